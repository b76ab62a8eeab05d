package search

import (
	"fmt"
	"math"
	"strings"

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
	if s.within != 0 {
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

// reach is how many entries before a moment a passage may begin, and behind it end.
func (p passage) reach() int { return len(p.words) - 1 }

// phraseCheck looks for a phrase in the texts of meetings that may have it.
type phraseCheck struct {
	s       *snapshot
	budget  *readBudget
	passage passage
	negated bool
	run     bool       // see queryTerm
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
// not be. A word without spaces is hardly ever missing where all its pairs are, so that it
// counts as found. It returns false when there were any.
func (c *phraseCheck) settle(among meetingSet) (exact bool) {
	left := c.s.empty()
	for _, w := range c.waiting {
		left.or(w.meetings.clone().and(among))
		w.meetings.andNot(among)
	}
	if left.andNot(c.found).size() == 0 {
		return true
	}
	if c.negated || c.run {
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
