package search

import (
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2/document"

	"minutebook/api"
	"minutebook/archive"
)

// momentDocuments are the moments of a meeting, each as one document.
func momentDocuments(s *source, langs *languages) []*document.Document {
	lang := langs.get(baseCode(s.row.Language))
	stretches := cut(s.entries)
	docs := make([]*document.Document, len(stretches))
	tokens := make([][]tok, len(s.entries))
	for i, e := range s.entries {
		tokens[i] = tokenize(e.Text)
	}
	for i, st := range stretches {
		d := document.NewDocument(momentID(s.row.RecordingID, st))
		var said []string
		keys := map[string]bool{keyMeeting + strconv.FormatInt(s.row.RecordingID, 10): true}
		var speakers []person
		for j := st.From; j < st.To; j++ {
			said = appendTerms(said, tokens[j], lang, lang.stop)
			p := person{s.entries[j].Speaker, s.entries[j].Email}
			speakers = append(speakers, p)
			addPerson(keys, keySpeaker, p)
		}
		addText(d, fieldText, said)
		addText(d, fieldPeople, nameWords(speakers))
		addText(d, fieldHighlights, appendTerms(nil, tokenize(s.notes(st)), lang, lang.stop))
		addKeys(d, fieldKeys, setOf(keys))
		addKeys(d, fieldPairs, setOf(momentPairs(tokens, st)))
		docs[i] = d
	}
	return docs
}

// momentPairs are the pairs of the moment's words, the one across its end
// included, so that no phrase is lost at a border.
func momentPairs(tokens [][]tok, st stretch) map[string]bool {
	pairs := map[string]bool{}
	var last tok
	for j := st.From; j < st.To; j++ {
		addPairs(pairs, fieldText, tokens[j])
		if first, ok := firstWord(tokens[j]); ok && last.term != "" {
			pairs[pairTerm(fieldText, last.term, first.term)] = true
		}
		if w, ok := lastWord(tokens[j]); ok {
			last = w
		}
	}
	for j := st.To; j < len(tokens) && last.term != ""; j++ {
		if first, ok := firstWord(tokens[j]); ok {
			pairs[pairTerm(fieldText, last.term, first.term)] = true
			break
		}
	}
	return pairs
}

func firstWord(tokens []tok) (tok, bool) {
	for _, t := range tokens {
		if !t.whole {
			return t, true
		}
	}
	return tok{}, false
}

func lastWord(tokens []tok) (tok, bool) {
	for i := len(tokens) - 1; i >= 0; i-- {
		if !tokens[i].whole {
			return tokens[i], true
		}
	}
	return tok{}, false
}

// notes is what highlights and action items say about a stretch: highlights
// that it overlaps, action items noted in it.
func (s *source) notes(st stretch) string {
	from := s.entries[st.From].Offset
	to := s.endOf(st)
	var text string
	for _, h := range s.meeting.Highlights.Or(nil) {
		if seconds(h.StartTime) < to && seconds(h.EndTime) > from || seconds(h.StartTime) >= from && seconds(h.StartTime) < to {
			text += highlightText(h) + "\n"
		}
	}
	for _, a := range s.meeting.ActionItems.Or(nil) {
		at, err := api.ParseOffset(a.RecordingTimestamp)
		if err == nil && at >= from && at < to {
			text += actionText(a) + "\n"
		}
	}
	return text
}

// endOf is where the stretch's successor begins; of the last one, a minute
// after its last entry.
func (s *source) endOf(st stretch) time.Duration {
	if st.To < len(s.entries) {
		return s.entries[st.To].Offset
	}
	return s.entries[st.To-1].Offset + momentLength
}

func seconds(f float64) time.Duration {
	if f < 0 || f > 1e7 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

// entryAt is the index of the last entry that begins at or before an offset.
func entryAt(entries []archive.Entry, at time.Duration) int {
	found := 0
	for i, e := range entries {
		if e.Offset <= at {
			found = i
		}
	}
	return found
}
