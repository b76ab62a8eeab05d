package search

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// readAtOnce is how many meetings are read, on several processors, before the budget is
// looked at again. It does not depend on the machine, as answers do not either.
const readAtOnce = 4

// readNewest looks for a passage in the transcripts of meetings, the newest first, as far as
// the budget lasts, and calls done with how often each has it; once makes it stop at a
// meeting's first.
func (s *snapshot) readNewest(found meetingSet, p passage, once bool, budget *readBudget, done func(id int64, times int)) error {
	moments, err := s.momentsToRead(p)
	if err != nil {
		return err
	}
	newest := s.topMeetings(found, nil, maxVerified, nil)
	words := make([]text.Sequence, readAtOnce)
	for len(newest) > 0 && !budget.isSpent() {
		batch := newest[:min(readAtOnce, len(newest))]
		newest = newest[len(batch):]
		ranges := make([][]entryRange, len(batch))
		for i, r := range batch { // one after the other, as the index is read by one goroutine
			if moments == nil { // the whole transcript
				ranges[i] = []entryRange{{0, -1}}
			} else if ranges[i], err = s.rangesWith(r.id, moments, len(p.words) > 1); err != nil {
				return err
			}
			if !once {
				ranges[i] = joinRanges(ranges[i])
			}
		}
		times, costs := make([]int, len(batch)), make([]int, len(batch))
		err = s.parallel(len(batch), func(i int) (err error) {
			times[i], costs[i], err = s.countInRanges(&words[i], batch[i].id, ranges[i], p.words, once)
			return err
		})
		if err != nil {
			return err
		}
		for i, r := range batch {
			budget.entries -= costs[i]
			done(r.id, times[i])
		}
	}
	return nil
}

// momentsToRead returns the moments, by segment, in or at which a passage must be: those of
// its speakers that have its rarest word. It returns nil where all moments are to be read.
func (s *snapshot) momentsToRead(p passage) ([]*roaring.Bitmap, error) {
	rarest, err := s.rarestWord(p.words)
	if err != nil || rarest == "" && len(p.speakers) == 0 {
		return nil, err
	}
	moments := make([]*roaring.Bitmap, len(s.spoken))
	for i, m := range s.spoken {
		if len(p.speakers) > 0 {
			if moments[i], err = m.spokenBy(p.speakers); err != nil {
				return nil, err
			}
		}
		if rarest == "" {
			continue
		}
		with, err := m.terms.Documents(segment.FieldText, rarest)
		if err != nil {
			return nil, err
		}
		if moments[i] != nil {
			with.And(moments[i])
		}
		moments[i] = with
	}
	return moments, nil
}

// rangesWith returns those of the moments, by segment, that are of a meeting, and of several
// words each with the entry before and the one after it, from and into which they may run.
// All moments of a meeting are in one segment, as they are written together.
func (s *snapshot) rangesWith(id int64, moments []*roaring.Bitmap, several bool) (ranges []entryRange, err error) {
	for i, m := range s.spoken {
		docs, err := m.ofMeeting(id)
		if err != nil {
			return nil, err
		}
		if docs.IsEmpty() {
			continue
		}
		docs.And(moments[i])
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return nil, fmt.Errorf("read search index: %w", err)
			}
			_, r, ok := readMomentID(name)
			if ok && several {
				r = entryRange{max(0, r.From-1), r.To + 1}
			}
			if ok {
				ranges = append(ranges, r)
			}
		}
		break
	}
	return ranges, nil
}

// joinRanges joins ranges that meet or overlap, so that no entry is read twice.
func joinRanges(ranges []entryRange) []entryRange {
	slices.SortFunc(ranges, func(a, b entryRange) int { return a.From - b.From })
	var out []entryRange
	for _, r := range ranges {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// countInRanges reads entries into words and counts the phrase in them; once makes it stop
// at the first. The cost is of the entries that were read.
func (s *snapshot) countInRanges(words *text.Sequence, id int64, ranges []entryRange, phrase []string, once bool) (times, cost int, err error) {
	for _, r := range ranges {
		said, n, err := s.x.archive.Said(s.ctx, id, r.From, r.To)
		if err != nil {
			return 0, 0, err
		}
		cost += n + readCost
		words.Read(said)
		for first, after := words.FindPhrase(phrase, 0); first >= 0; first, after = words.FindPhrase(phrase, after) {
			if times++; once {
				return times, cost, nil
			}
		}
	}
	return times, cost, nil
}
