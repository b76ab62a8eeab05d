package search

import (
	"fmt"
	"math"
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
	titleCost   = 2    // entries that a read of a meeting's title counts as
	maxVerified = 400  // meetings, the newest of those that may have a phrase
)

// readBudget bounds the text that the phrases of one search are checked in.
type readBudget struct{ entries int }

func (b *readBudget) isSpent() bool { return b.entries <= 0 }

// newReadBudget returns the budget of a search. A search in one meeting reads all of it, since
// no other meeting can be read in its place.
func (s *snapshot) newReadBudget() *readBudget {
	if s.within {
		return &readBudget{math.MaxInt}
	}
	return &readBudget{maxRead}
}

// passage is words that follow one another in a transcript, said in moments in which all of
// some speakers speak, if there are any.
type passage struct {
	words    []string
	speakers []speaker
}

// phraseCheck looks for a phrase in the texts of meetings that may have it.
type phraseCheck struct {
	s       *snapshot
	budget  *readBudget
	passage passage
	negated bool
	found   meetingSet // that have the phrase
	waiting []waiting  // to be read
}

// waiting are meetings of which a field may have a phrase.
type waiting struct {
	field    string
	meetings meetingSet
}

// wait adds meetings whose field is to be read.
func (c *phraseCheck) wait(field string, meetings meetingSet) {
	if meetings.size() > 0 {
		c.waiting = append(c.waiting, waiting{field, meetings})
	}
}

// cost is about how much the waiting meetings cost to read. The cheapest phrase is read first,
// since it narrows the others.
func (c *phraseCheck) cost() (n int) {
	for _, w := range c.waiting {
		each := notesCost
		switch w.field {
		case segment.FieldText:
			each = readCost
		case segment.FieldTitle:
			each = titleCost
		}
		n += each * w.meetings.size()
	}
	return n
}

// bound returns the meetings that may have the phrase or, under a minus, those that
// certainly have it: for all others the query may hold.
func (c *phraseCheck) bound() meetingSet {
	out := c.found.clone()
	if !c.negated {
		for _, w := range c.waiting {
			out.or(w.meetings)
		}
	}
	return out
}

// read reads those of the waiting meetings that are in a set, the newest first, as far as
// the budget lasts.
func (c *phraseCheck) read(among meetingSet) error {
	s := c.s
	for _, w := range c.waiting {
		asked := w.meetings.clone().and(among).andNot(c.found)
		if asked.size() == 0 {
			continue
		}
		done := func(id int64, has bool) {
			s.removeMeeting(w.meetings, id)
			if has {
				s.addMeeting(c.found, id)
			}
		}
		var err error
		switch w.field {
		case segment.FieldText:
			err = s.readNewest(asked, c.passage, true, c.budget, func(id int64, times int) { done(id, times > 0) })
		case segment.FieldTitle:
			err = c.readTitles(asked, done)
		default:
			err = c.readNotes(asked, w.field, done)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle decides about the meetings of a set that still wait: they count as without the
// phrase or, under a minus, as having it, so that no meeting is in the answer that should
// not be. It returns false when there were any.
func (c *phraseCheck) settle(among meetingSet) (exact bool) {
	left := c.s.empty()
	for _, w := range c.waiting {
		left.or(w.meetings.clone().and(among))
		w.meetings.andNot(among)
	}
	if left.andNot(c.found).size() == 0 {
		return true
	}
	if c.negated {
		c.found.or(left)
	}
	return false
}

// readTitles reads the titles of meetings.
func (c *phraseCheck) readTitles(asked meetingSet, done func(id int64, has bool)) error {
	if c.budget.isSpent() {
		return nil
	}
	var ids []int64
	for _, r := range c.s.topMeetings(asked, nil, min(maxRead, c.budget.entries)/titleCost, nil) {
		ids = append(ids, r.id)
	}
	c.budget.entries -= titleCost * len(ids)
	rows, err := c.s.x.archive.Rows(c.s.ctx, ids)
	if err != nil {
		return fmt.Errorf("read titles to find a phrase: %w", err)
	}
	for _, id := range ids {
		row := rows[id]
		done(id, row != nil && containsPhrase(text.Tokenize(row.Title+"\n"+row.MeetingTitle), c.passage.words))
	}
	return nil
}

// readNotes reads another part of the newest of some meetings.
func (c *phraseCheck) readNotes(asked meetingSet, field string, done func(id int64, has bool)) error {
	for _, r := range c.s.topMeetings(asked, nil, maxVerified, nil) {
		if c.budget.isSpent() {
			return nil
		}
		has, err := c.notesHave(r.id, field)
		if err != nil {
			return err
		}
		done(r.id, has)
		if err := c.s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

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
	return containsPhrase(text.Tokenize(part), c.passage.words), nil
}

func containsPhrase(tokens []text.Token, phrase []string) bool {
	first, _ := text.NewSequence(tokens).FindPhrase(phrase, 0)
	return first >= 0
}
