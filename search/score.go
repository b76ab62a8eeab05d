package search

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// Scoring is BM25 over several fields: how often a word occurs in each field,
// weighed by the field and the length of its text, is added up, saturated, and
// multiplied by how rare the word is. It is done here because Bleve 2.6.1's
// own takes the number of different words for the length of texts, the root of
// how often a word occurs, and the square of how rare it is.

// fieldWeight says how much a field counts and how it is measured.
type fieldWeight struct {
	field  string
	weight float64
	b      float64 // how much the length of the text matters, 0 to 1
	mean   float64 // mean length in words; 0 means as counted
	also   string  // another field of meetings whose words it has
}

// tuning is everything that ranking is set by. It was found on one half of the
// corpus's questions and checked on the other; see bench/relevance.
type tuning struct {
	meeting      []fieldWeight
	moment       []fieldWeight
	speaker      float64 // occurrences that a word of a speaker's name stands for in a moment
	k1, momentK1 float64
	phrase       float64 // occurrences that a phrase stands for
	neighbour    float64 // share that a moment takes of the ones beside it
	best         float64 // weight of a meeting's best moment beside the meeting's score
	more         float64 // weight of the second and third
	asking       float64 // share of its rarity that a word that only asks counts with
	window       int     // meetings ranked by their moments too
}

func defaultTuning() tuning {
	return tuning{
		meeting: []fieldWeight{
			{segment.FieldText, 1, 0.4, 0, ""}, {segment.FieldTitle, 4, 0.3, 6, ""}, {segment.FieldSummary, 3, 0.3, 120, ""}, {segment.FieldHighlights, 3, 0.3, 60, ""},
			{segment.FieldActions, 2, 0.3, 60, ""}, {segment.FieldCRM, 1, 0.3, 10, ""}, {segment.FieldPeople, 2, 0.2, 12, ""},
		},
		moment:    []fieldWeight{{segment.FieldText, 1, 0.5, 90, ""}, {segment.FieldHighlights, 2, 0.3, 15, segment.FieldActions}},
		speaker:   1.5,
		k1:        1.5,
		momentK1:  0.8,
		phrase:    2,
		neighbour: 0.3,
		best:      1,
		more:      0.25,
		asking:    0.2,
		window:    100,
	}
}

// of is the share of its rarity that a leaf counts with.
func (t tuning) of(l *leaf) float64 {
	if l.asks {
		return t.asking
	}
	return 1
}

// rarity is the weight of something that n of all have.
func rarity(n, all int) float64 {
	return math.Log(1 + (float64(all-n)+0.5)/(float64(n)+0.5))
}

// scores are the meetings' scores, by segment and document.
type scores [][]float32

// scoreMeetings scores the meetings of a set by the leaves.
func (v *view) scoreMeetings(set docset, leaves []*leaf, in []string, t tuning) (scores, error) {
	out := make(scores, len(v.segments))
	idf := make([]float64, len(leaves))
	for n, l := range leaves {
		if l.meetings != nil {
			idf[n] = rarity(l.meetings.size(), v.count) * t.of(l)
		}
	}
	return out, v.beside(len(v.segments), func(i int) error {
		out[i] = make([]float32, v.segments[i].FullSize())
		if set[i].IsEmpty() {
			return nil
		}
		found := make([]float64, len(out[i]))
		for n, l := range leaves {
			if l.stop || l.meetings == nil {
				continue
			}
			if err := v.countLeaf(found, set[i], l, in, t, i); err != nil {
				return err
			}
			eachOf(set[i], func(doc uint32) {
				if tf := found[doc]; tf > 0 {
					out[i][doc] += float32(idf[n] * tf * (t.k1 + 1) / (tf + t.k1))
				}
			})
			clear(found)
		}
		return nil
	})
}

// eachOf calls fn for all documents of a set, in order.
func eachOf(set *roaring.Bitmap, fn func(doc uint32)) {
	it := set.ManyIterator()
	var buf [512]uint32
	for n := it.NextMany(buf[:]); n > 0; n = it.NextMany(buf[:]) {
		for _, doc := range buf[:n] {
			fn(doc)
		}
	}
}

// countLeaf adds a leaf's weighed occurrences in a segment's documents to found,
// in those of the set at least.
func (v *view) countLeaf(found []float64, set *roaring.Bitmap, l *leaf, in []string, t tuning, i int) error {
	if len(l.terms) > 0 {
		eachOf(roaring.And(set, l.meetings[i]), func(doc uint32) { found[doc] += t.phrase })
		return nil
	}
	for _, fw := range t.meeting {
		if !contains(in, fw.field) || fw.field == segment.FieldCRM && !v.everything { // it has what the viewer does not see
			continue
		}
		if fw.mean == 0 {
			fw.mean = float64(v.words)
		}
		if err := addForms(v.lexicons[i], fw, l.forms, set, func(doc uint32, tf float64) { found[doc] += tf }); err != nil {
			return err
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// fewOf is how many documents of a term for each of a set make it worth finding
// those alone.
const fewOf = 16

// addForms calls add with the weighed occurrences of each form of a word in a
// field, for the set's documents at least.
func addForms(words *segment.TermReader, fw fieldWeight, forms []form, set *roaring.Bitmap, add func(doc uint32, tf float64)) error {
	wanted := set.GetCardinality()
	for _, f := range forms {
		if !f.in.has(fw.field) && !f.in.has(fw.also) {
			continue
		}
		c, err := words.Postings(fw.field, f.term)
		if err != nil {
			return err
		}
		if c.Docs == nil {
			continue
		}
		weigh := fw.weigh(f, add)
		if wanted*fewOf < c.Docs.GetCardinality() {
			err = c.EachIn(set, weigh)
		} else {
			err = c.Each(weigh)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// weigh makes of occurrences of a form in the field what add takes.
func (fw fieldWeight) weigh(f form, add func(doc uint32, tf float64)) func(doc, times, length uint32) {
	weight, base, slope := f.weight*fw.weight, 1-fw.b, fw.b/fw.mean
	return func(doc, times, length uint32) {
		add(doc, weight*float64(times)/(base+slope*float64(length)))
	}
}
