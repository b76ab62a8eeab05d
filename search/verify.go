package search

import (
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// Bounds of what is read from the archive to check the phrases of one search.
// Where more would have to be read the answer is of what was checked, and says
// that its total is a lower bound.
const (
	mostRead     = 6000 // entries of transcripts
	readCost     = 12   // entries that reading any counts as
	notesRead    = 100  // entries that reading a meeting's notes counts as
	mostVerified = 400  // meetings, the newest of those that may have a phrase
)

// verified keeps the meetings that have a phrase in a field, of those that have
// all its pairs there. It looks at the newest first. Under a minus the ones
// that could not be looked at stay.
func (v *view) verified(found docset, field string, terms []string) (docset, error) {
	rarest, err := v.rarest(terms)
	if err != nil {
		return nil, err
	}
	newest := v.best(found, nil, mostVerified, nil)
	looked := v.none()
	for _, r := range newest {
		if v.unread <= 0 {
			break
		}
		v.addMeeting(looked, r.id)
		says, err := v.says(r.id, field, terms, rarest)
		if err != nil {
			return nil, err
		}
		if !says {
			v.dropMeeting(found, r.id)
		}
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
	}
	if unseen := v.none().or(found).without(looked).size(); unseen == 0 {
		return found, nil
	}
	v.inexact = true
	if v.negated {
		return found, nil
	}
	return found.and(looked), nil
}

// says looks for a phrase in a field of a meeting.
func (v *view) says(id int64, field string, terms []string, rarest string) (bool, error) {
	if field != segment.FieldText {
		return v.notesSay(id, field, terms)
	}
	if rarest == "" {
		return v.entriesSay(id, 0, -1, terms)
	}
	for _, m := range v.spoken {
		docs, err := m.ofMeeting(id)
		if err != nil {
			return false, err
		}
		if docs.IsEmpty() {
			continue
		}
		with, err := m.words.Documents(segment.FieldText, rarest)
		if err != nil {
			return false, err
		}
		docs.And(with)
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return false, fmt.Errorf("read search index: %w", err)
			}
			if says, err := v.momentSays(name, terms); says || err != nil {
				return says, err
			}
		}
	}
	return false, nil
}

// momentSays reads a moment, the entry before and the one after it, from and
// into which a phrase may run.
func (v *view) momentSays(name []byte, terms []string) (bool, error) {
	id, st, ok := readMomentID(name)
	if !ok {
		return false, nil
	}
	return v.entriesSay(id, max(0, st.From-1), st.To+1, terms)
}

// entriesSay reads entries [from,to).
func (v *view) entriesSay(id int64, from, to int, terms []string) (bool, error) {
	entries, err := v.x.archive.Entries(v.ctx, id, from, to)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	v.unread -= len(entries) + readCost
	tokens := make([][]text.Token, len(entries))
	for i, e := range entries {
		tokens[i] = text.Tokenize(e.Text)
	}
	return containsPhrase(oneAfterAnother(entries, tokens), terms), nil
}

// notesSay reads a part other than the transcript.
func (v *view) notesSay(id int64, field string, terms []string) (bool, error) {
	v.unread -= notesRead
	s := &source{}
	var err error
	if s.meeting, err = v.x.archive.Notes(v.ctx, id); isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if field == segment.FieldCRM {
		lines, err := v.crm(id)
		return containsPhrase(text.Tokenize(strings.Join(lines, "\n")), terms), err
	}
	return containsPhrase(text.Tokenize(s.part(field)), terms), nil
}

func containsPhrase(tokens []text.Token, terms []string) bool {
	first, _ := text.NewSequence(tokens).FindPhrase(terms, 0)
	return first >= 0
}

// verified keeps the moments whose text has a phrase, of the meetings that
// have its pairs. Under a minus the ones that could not be read stay.
func (m *momentSegment) verified(docs *roaring.Bitmap, among docset, terms []string) (*roaring.Bitmap, error) {
	v := m.v
	kept := roaring.New()
	for it := docs.Iterator(); it.HasNext(); {
		doc := it.Next()
		name, err := m.seg.DocID(uint64(doc))
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if !v.hasMeeting(among, meetingOf(name)) {
			continue
		}
		if v.unread <= 0 {
			v.inexact = true
			if !v.negated {
				break
			}
			kept.Add(doc)
			continue
		}
		says, err := v.momentSays(name, terms)
		if err != nil {
			return nil, err
		}
		if says {
			kept.Add(doc)
		}
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
