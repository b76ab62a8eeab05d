package search

import (
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
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
			{fieldText, 1, 0.4, 0, ""}, {fieldTitle, 4, 0.3, 6, ""}, {fieldSummary, 3, 0.3, 120, ""}, {fieldHighlights, 3, 0.3, 60, ""},
			{fieldActions, 2, 0.3, 60, ""}, {fieldCRM, 1, 0.3, 10, ""}, {fieldPeople, 2, 0.2, 12, ""},
		},
		moment:    []fieldWeight{{fieldText, 1, 0.5, 90, ""}, {fieldHighlights, 2, 0.3, 15, fieldActions}},
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
	for i, seg := range v.segments {
		out[i] = make([]float32, seg.FullSize())
		if set[i].IsEmpty() {
			continue
		}
		found := make([]float64, seg.FullSize())
		for _, l := range leaves {
			if l.stop || l.meetings == nil {
				continue
			}
			idf := rarity(l.meetings.size(), v.count) * t.of(l)
			if err := v.countLeaf(found, seg, set[i], l, in, t, i); err != nil {
				return nil, err
			}
			for it := set[i].Iterator(); it.HasNext(); {
				doc := it.Next()
				if tf := found[doc]; tf > 0 {
					out[i][doc] += float32(idf * tf * (t.k1 + 1) / (tf + t.k1))
					found[doc] = 0
				}
			}
		}
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// countLeaf adds a leaf's weighed occurrences to found.
func (v *view) countLeaf(found []float64, seg *scorch.SegmentSnapshot, set *roaring.Bitmap, l *leaf, in []string, t tuning, i int) error {
	if len(l.terms) > 0 {
		for it := roaring.And(set, l.meetings[i]).Iterator(); it.HasNext(); {
			found[it.Next()] += t.phrase
		}
		return nil
	}
	for _, fw := range t.meeting {
		if !contains(in, fw.field) {
			continue
		}
		if fw.mean == 0 {
			fw.mean = float64(v.words)
		}
		if err := addForms(seg, fw, l.forms, set, func(doc uint32, tf float64) { found[doc] += tf }); err != nil {
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

// addForms calls add with the weighed occurrences of each form of a word in a
// field of the set's documents.
func addForms(seg *scorch.SegmentSnapshot, fw fieldWeight, forms []form, set *roaring.Bitmap, add func(doc uint32, tf float64)) error {
	dict, err := seg.Segment().Dictionary(fw.field)
	if err != nil {
		return fmt.Errorf("read search index: %w", err)
	}
	var list segment.PostingsList
	var it segment.PostingsIterator
	for _, f := range forms {
		if !f.in.has(fw.field) && !f.in.has(fw.also) {
			continue
		}
		if list, err = dict.PostingsList([]byte(f.term), seg.Deleted(), list); err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		if list.Count() == 0 {
			continue
		}
		it = list.Iterator(true, true, false, it)
		if !narrowTo(it, set) {
			continue
		}
		for {
			p, err := it.Next()
			if err != nil {
				return fmt.Errorf("read search index: %w", err)
			}
			if p == nil {
				break
			}
			if doc := uint32(p.Number()); set.Contains(doc) {
				norm := p.Norm()
				length := 1 / (norm * norm)
				add(doc, f.weight*fw.weight*float64(p.Frequency())/(1-fw.b+fw.b*length/fw.mean))
			}
		}
	}
	return nil
}

// narrowTo makes an iterator pass over what is not in the set; false when
// nothing is left.
func narrowTo(it segment.PostingsIterator, set *roaring.Bitmap) bool {
	o, ok := it.(segment.OptimizablePostingsIterator)
	if !ok {
		return true
	}
	if _, one := o.DocNum1Hit(); one {
		return true
	}
	bm := o.ActualBitmap()
	if bm == nil {
		return true
	}
	both := roaring.And(bm, set)
	if both.IsEmpty() {
		return false
	}
	o.ReplaceActual(both)
	return true
}
