package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// Bounds of the text that is read from the archive to check the phrases of one
// search. Where more would have to be read the answer is of the meetings that were
// checked, and says that its total is a lower bound.
const (
	maxRead     = 6000 // entries of transcripts
	readCost    = 12   // entries that any read counts as
	notesCost   = 100  // entries that a read of a meeting's notes counts as
	maxVerified = 400  // meetings, the newest of those that may have a phrase
)

// readBudget bounds the text that the phrases of one search are checked in.
type readBudget struct{ entries int }

func (b *readBudget) isSpent() bool { return b.entries <= 0 }

// phraseCheck looks for a phrase in the texts of meetings. Its exact becomes false
// when some could not be read: these are left out, or kept under a minus.
type phraseCheck struct {
	s       *snapshot
	budget  *readBudget
	phrase  []string
	rarest  string // word of the phrase in moments; empty: none
	negated bool
	exact   bool
	words   text.Sequence // of the entries read last
}

// keepMeetings keeps the meetings that have the phrase in a field, of those that
// have all its pairs there. It reads the newest first.
func (c *phraseCheck) keepMeetings(found meetingSet, field string) (meetingSet, error) {
	s := c.s
	read := s.empty()
	keep := func(id int64, has bool) {
		s.addMeeting(read, id)
		if !has {
			s.removeMeeting(found, id)
		}
	}
	var err error
	if field == segment.FieldText {
		err = s.readNewest(found, c.phrase, true, c.budget, func(id int64, times int) { keep(id, times > 0) })
	} else {
		err = c.keepNoted(found, field, keep)
	}
	if err != nil {
		return nil, err
	}
	if found.clone().andNot(read).size() == 0 {
		return found, nil
	}
	c.exact = false
	if c.negated {
		return found, nil
	}
	return found.and(read), nil
}

// keepNoted reads a part other than the transcript of the newest of some meetings.
func (c *phraseCheck) keepNoted(found meetingSet, field string, keep func(id int64, has bool)) error {
	for _, r := range c.s.topMeetings(found, nil, maxVerified, nil) {
		if c.budget.isSpent() {
			return nil
		}
		has, err := c.notesHave(r.id, field)
		if err != nil {
			return err
		}
		keep(r.id, has)
		if err := c.s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readAtOnce is how many meetings are read, on several processors, before the budget is
// looked at again. It does not depend on the machine, as answers do not either.
const readAtOnce = 4

// readNewest looks for a phrase in the transcripts of meetings, the newest first, as far as
// the budget lasts, and calls done with how often each has it; once makes it stop at a
// meeting's first.
func (s *snapshot) readNewest(found meetingSet, phrase []string, once bool, budget *readBudget, done func(id int64, times int)) error {
	rarest, err := s.rarestWord(phrase)
	if err != nil {
		return err
	}
	var moments []*roaring.Bitmap
	if rarest != "" {
		if moments, err = s.momentsWith(rarest); err != nil {
			return err
		}
	}
	newest := s.topMeetings(found, nil, maxVerified, nil)
	words := make([]text.Sequence, readAtOnce)
	for len(newest) > 0 && !budget.isSpent() {
		batch := newest[:min(readAtOnce, len(newest))]
		newest = newest[len(batch):]
		ranges := make([][]entryRange, len(batch))
		for i, r := range batch { // one after the other, as the index is read by one goroutine
			if rarest == "" { // the whole transcript
				ranges[i] = []entryRange{{0, -1}}
			} else if ranges[i], err = s.rangesWith(r.id, moments); err != nil {
				return err
			}
			if !once {
				ranges[i] = joinRanges(ranges[i])
			}
		}
		times, costs := make([]int, len(batch)), make([]int, len(batch))
		err = s.parallel(len(batch), func(i int) (err error) {
			times[i], costs[i], err = s.countInRanges(&words[i], batch[i].id, ranges[i], phrase, once)
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

// momentsWith returns the moments that have a word, by segment.
func (s *snapshot) momentsWith(word string) ([]*roaring.Bitmap, error) {
	with := make([]*roaring.Bitmap, len(s.spoken))
	for i, m := range s.spoken {
		var err error
		if with[i], err = m.terms.Documents(segment.FieldText, word); err != nil {
			return nil, err
		}
	}
	return with, nil
}

// rangesWith returns those of the moments, by segment, that are of a meeting, each with the
// entry before and the one after it, from and into which a phrase may run. All moments of a
// meeting are in one segment, as they are written together.
func (s *snapshot) rangesWith(id int64, moments []*roaring.Bitmap) (ranges []entryRange, err error) {
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
			if _, r, ok := readMomentID(name); ok {
				ranges = append(ranges, entryRange{max(0, r.From-1), r.To + 1})
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

// momentHas reads a moment, the entry before and the one after it, from and into
// which a phrase may run.
func (c *phraseCheck) momentHas(name []byte) (bool, error) {
	id, entries, ok := readMomentID(name)
	if !ok {
		return false, nil
	}
	around := entryRange{max(0, entries.From-1), entries.To + 1}
	times, cost, err := c.s.countInRanges(&c.words, id, []entryRange{around}, c.phrase, true)
	c.budget.entries -= cost
	return times > 0, err
}

// notesHave reads a part other than the transcript.
func (c *phraseCheck) notesHave(id int64, field string) (bool, error) {
	c.budget.entries -= notesCost
	s := c.s
	src := &source{}
	var err error
	if src.meeting, err = s.x.archive.Notes(s.ctx, id); isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	part := src.partText(field)
	if field == segment.FieldCRM {
		lines, err := s.crmLinesOf(id)
		if err != nil {
			return false, err
		}
		part = strings.Join(lines, "\n")
	}
	return containsPhrase(text.Tokenize(part), c.phrase), nil
}

func containsPhrase(tokens []text.Token, phrase []string) bool {
	first, _ := text.NewSequence(tokens).FindPhrase(phrase, 0)
	return first >= 0
}

// keepMoments keeps the moments of a segment whose text has the phrase, of the
// meetings that have its pairs.
func (c *phraseCheck) keepMoments(m *momentSegment, docs *roaring.Bitmap, candidates meetingSet) (*roaring.Bitmap, error) {
	kept := roaring.New()
	for it := docs.Iterator(); it.HasNext(); {
		doc := it.Next()
		name, err := m.seg.DocID(uint64(doc))
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if !c.s.hasMeeting(candidates, meetingOfMoment(name)) {
			continue
		}
		if c.budget.isSpent() {
			c.exact = false
			if !c.negated {
				break
			}
			kept.Add(doc)
			continue
		}
		has, err := c.momentHas(name)
		if err != nil {
			return nil, err
		}
		if has {
			kept.Add(doc)
		}
		if err := c.s.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
