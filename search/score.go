package search

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// Scoring is BM25 over several fields: how often a word occurs in each field,
// weighted by the field and the length of its text, is added up, saturated, and
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

// tuning holds the weights of ranking. They were found on one half of the corpus's
// questions and checked on the other; see bench/relevance.
type tuning struct {
	meeting      []fieldWeight
	moment       []fieldWeight
	speaker      float64 // occurrences that a word of a speaker's name stands for in a moment
	k1, momentK1 float64
	phrase       float64 // occurrences that a phrase stands for
	neighbour    float64 // share that a moment takes of the scores of its neighbours
	bestMoment   float64 // weight of a meeting's best moment in the meeting's score
	nextMoments  float64 // weight of the second and third
	asking       float64 // share of its rarity that counts of a word that only asks
	window       int     // meetings ranked by their moments too
	shown        int     // meetings that pages show by relevance, before the others by date
}

func defaultTuning() tuning {
	return tuning{
		meeting: []fieldWeight{
			{segment.FieldText, 1, 0.4, 0, ""}, {segment.FieldTitle, 4, 0.3, 6, ""}, {segment.FieldSummary, 3, 0.3, 120, ""}, {segment.FieldHighlights, 3, 0.3, 60, ""},
			{segment.FieldActions, 2, 0.3, 60, ""}, {segment.FieldCRM, 1, 0.3, 10, ""}, {segment.FieldPeople, 2, 0.2, 12, ""},
		},
		moment:      []fieldWeight{{segment.FieldText, 1, 0.5, 90, ""}, {segment.FieldHighlights, 2, 0.3, 15, segment.FieldActions}},
		speaker:     1.5,
		k1:          1.5,
		momentK1:    0.8,
		phrase:      2,
		neighbour:   0.3,
		bestMoment:  1,
		nextMoments: 0.25,
		asking:      0.2,
		window:      100,
		shown:       1000,
	}
}

// shareOf is the share of a term's rarity that counts.
func (t tuning) shareOf(m *termMatch) float64 {
	if m.asks {
		return t.asking
	}
	return 1
}

// rarity is the weight of a term that n of all documents have.
func rarity(n, all int) float64 {
	return math.Log(1 + (float64(all-n)+0.5)/(float64(n)+0.5))
}

// scores are meetings' scores, by segment and document.
type scores [][]float32

// scoreMeetings scores the meetings of a set by the terms, in the fields given.
func (s *snapshot) scoreMeetings(set meetingSet, terms []*termMatch, fields []string, t tuning) (scores, error) {
	out := make(scores, len(s.segments))
	idf, mean := make([]float64, len(terms)), s.meanWords()
	for n, m := range terms {
		idf[n] = rarity(m.meetings.size(), s.visibleCount) * t.shareOf(m)
	}
	return out, s.parallel(len(s.segments), func(i int) error {
		out[i] = make([]float32, s.segments[i].seg.FullSize())
		if set[i].IsEmpty() {
			return nil
		}
		found := make([]float64, len(out[i]))
		for n, m := range terms {
			if m.stop {
				continue
			}
			if err := s.countTerm(found, i, set[i], m, fields, t, mean); err != nil {
				return err
			}
			eachDocument(set[i], func(doc uint32) {
				if tf := found[doc]; tf > 0 {
					out[i][doc] += float32(idf[n] * tf * (t.k1 + 1) / (tf + t.k1))
				}
			})
			clear(found)
		}
		return nil
	})
}

// countTerm adds a term's weighted occurrences in the documents of segment i to
// found, in those of the set at least. mean is the mean length of meetings.
func (s *snapshot) countTerm(found []float64, i int, set *roaring.Bitmap, m *termMatch, fields []string, t tuning, mean float64) error {
	if len(m.phrase) > 0 {
		eachDocument(roaring.And(set, m.meetings[i]), func(doc uint32) { found[doc] += t.phrase })
		return nil
	}
	for _, fw := range t.meeting {
		if !slices.Contains(fields, fw.field) || fw.field == segment.FieldCRM && !s.seesAll { // the field has matches that the viewer does not see
			continue
		}
		if fw.mean == 0 {
			fw.mean = mean
		}
		if err := addVariants(s.segments[i].terms, fw, m.variants, set, func(doc uint32, tf float64) { found[doc] += tf }); err != nil {
			return err
		}
	}
	return nil
}

// seekRatio: below one wanted document in this many postings, seeking beats
// scanning.
const seekRatio = 16

// addVariants calls add with the weighted occurrences of each variant of a word in a
// field, for the set's documents at least.
func addVariants(terms *segment.TermReader, fw fieldWeight, variants []variant, set *roaring.Bitmap, add func(doc uint32, tf float64)) error {
	wanted := set.GetCardinality()
	for _, v := range variants {
		if !fw.has(v) {
			continue
		}
		postings, err := terms.Postings(fw.field, v.term)
		if err != nil {
			return err
		}
		if postings.Docs == nil {
			continue
		}
		weight := fw.weigher(v, add)
		if wanted*seekRatio < postings.Docs.GetCardinality() {
			err = postings.EachIn(set, weight)
		} else {
			err = postings.Each(weight)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a variant may be in the field.
func (fw fieldWeight) has(v variant) bool { return v.fields.has(fw.field) || v.fields.has(fw.also) }

// weigher returns a function that weights the occurrences of a variant in the field
// for add.
func (fw fieldWeight) weigher(v variant, add func(doc uint32, tf float64)) func(doc, times, length uint32) {
	weight, base, slope := v.weight*fw.weight, 1-fw.b, fw.b/fw.mean
	return func(doc, times, length uint32) {
		add(doc, weight*float64(times)/(base+slope*float64(length)))
	}
}
