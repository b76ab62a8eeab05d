package search

import "strconv"

// Names of the fields in the indexes. Those of text keep how often and among
// how many words a word occurs; keys and pairs keep only where.
const (
	fieldText       = "t" // what was said; in moments without stop words
	fieldTitle      = "h"
	fieldSummary    = "s"
	fieldHighlights = "g" // in moments: of what was noted about the moment
	fieldActions    = "a"
	fieldCRM        = "c"
	fieldPeople     = "p" // words of names, of meetings
	fieldKeys       = "k" // what filters ask for, see keys.go
	fieldPairs      = "q" // neighbouring words of meetings, for phrases
	fieldRecord     = "r" // what counting and ordering need, see record.go
)

// addMeeting adds the meeting as one document. The tokens are those of its
// entries.
func (v *inverter) addMeeting(s *source, tokens [][]tok, langs *languages) {
	lang := langs.get(baseCode(s.row.Language))
	var said []uint32
	for _, t := range tokens {
		said = v.words.appendWords(said, t, lang, nil)
	}
	v.begin(strconv.FormatInt(s.row.RecordingID, 10), recordOf(s, len(said)).encode())
	v.addText(fieldText, said)
	v.addPairs(fieldText, oneAfterAnother(s.entries, tokens))
	for _, field := range []string{fieldTitle, fieldSummary, fieldHighlights, fieldActions, fieldCRM} {
		part := v.words.tokenize(s.part(field))
		v.addText(field, v.words.appendWords(nil, part, lang, nil))
		v.addPairs(field, part)
	}
	v.addText(fieldPeople, v.words.numbersOf(nameWords(s.people())))
	v.addKeys(fieldKeys, meetingKeys(s))
	v.addCRM(s.crm, lang)
}

func (s *source) highlights() string {
	var all string
	for _, h := range s.meeting.Highlights.Or(nil) {
		all += highlightText(h) + "\n"
	}
	return all
}

func (s *source) actions() string {
	var all string
	for _, a := range s.meeting.ActionItems.Or(nil) {
		all += actionText(a) + "\n"
	}
	return all
}

func nameWords(people []person) []string {
	seen := map[string]bool{}
	for _, p := range people {
		for _, t := range tokenize(p.name) {
			seen[t.term] = true
		}
	}
	return setOf(seen)
}

func setOf(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	return out
}
