package search

import (
	"fmt"
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
}

// keepMeetings keeps the meetings that have the phrase in a field, of those that
// have all its pairs there. It reads the newest first.
func (c *phraseCheck) keepMeetings(found meetingSet, field string) (meetingSet, error) {
	s := c.s
	var err error
	if c.rarest, err = s.rarestWord(c.phrase); err != nil {
		return nil, err
	}
	read := s.empty()
	for _, r := range s.topMeetings(found, nil, maxVerified, nil) {
		if c.budget.isSpent() {
			break
		}
		s.addMeeting(read, r.id)
		has, err := c.meetingHas(r.id, field)
		if err != nil {
			return nil, err
		}
		if !has {
			s.removeMeeting(found, r.id)
		}
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
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

// meetingHas looks for the phrase in a field of a meeting.
func (c *phraseCheck) meetingHas(id int64, field string) (bool, error) {
	if field != segment.FieldText {
		return c.notesHave(id, field)
	}
	if c.rarest == "" {
		return c.entriesHave(id, 0, -1)
	}
	for _, m := range c.s.spoken {
		docs, err := m.ofMeeting(id)
		if err != nil {
			return false, err
		}
		if docs.IsEmpty() {
			continue
		}
		matching, err := m.terms.Documents(segment.FieldText, c.rarest)
		if err != nil {
			return false, err
		}
		docs.And(matching)
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return false, fmt.Errorf("read search index: %w", err)
			}
			if has, err := c.momentHas(name); has || err != nil {
				return has, err
			}
		}
	}
	return false, nil
}

// momentHas reads a moment, the entry before and the one after it, from and into
// which a phrase may run.
func (c *phraseCheck) momentHas(name []byte) (bool, error) {
	id, entries, ok := readMomentID(name)
	if !ok {
		return false, nil
	}
	return c.entriesHave(id, max(0, entries.From-1), entries.To+1)
}

// entriesHave reads entries [from,to).
func (c *phraseCheck) entriesHave(id int64, from, to int) (bool, error) {
	entries, err := c.s.x.archive.Entries(c.s.ctx, id, from, to)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.budget.entries -= len(entries) + readCost
	tokens := make([][]text.Token, len(entries))
	for i, e := range entries {
		tokens[i] = text.Tokenize(e.Text)
	}
	return containsPhrase(joinEntries(entries, tokens), c.phrase), nil
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
