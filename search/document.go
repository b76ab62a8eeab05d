package search

import (
	"strconv"

	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// addMeeting adds the meeting as one document. The tokens are those of its
// entries.
func addMeeting(v *segment.Builder, s *source, tokens [][]text.Token, langs *text.Languages) {
	lang := langs.Get(text.BaseCode(s.row.Language))
	var words []uint32
	for _, t := range tokens {
		words = v.Words.AppendWords(words, t, lang, nil)
	}
	v.Begin(strconv.FormatInt(s.row.RecordingID, 10), recordOf(s, len(words)).encode())
	v.AddWords(segment.FieldText, words)
	v.AddPairs(segment.FieldText, joinEntries(s.entries, tokens))
	for _, field := range []string{segment.FieldTitle, segment.FieldSummary, segment.FieldHighlights, segment.FieldActions, segment.FieldCRM} {
		part := v.Words.Tokenize(s.partText(field))
		v.AddWords(field, v.Words.AppendWords(nil, part, lang, nil))
		v.AddPairs(field, part)
	}
	v.AddWords(segment.FieldPeople, v.Words.Numbers(wordsOfNames(s.people())))
	v.AddKeys(segment.FieldKeys, meetingKeys(s))
	addCRM(v, s.crm, lang)
}

func (s *source) highlightsText() string {
	var all string
	for _, h := range s.meeting.Highlights.Or(nil) {
		all += highlightText(h) + "\n"
	}
	return all
}

func (s *source) actionsText() string {
	var all string
	for _, a := range s.meeting.ActionItems.Or(nil) {
		all += actionText(a) + "\n"
	}
	return all
}

func wordsOfNames(people []participant) []string {
	seen := map[string]bool{}
	for _, p := range people {
		for _, t := range text.Tokenize(p.name) {
			seen[t.Term] = true
		}
	}
	return keysOf(seen)
}

// keysOf lists the keys of a set.
func keysOf(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	return out
}

// joinEntries returns the words of entries as of one text.
func joinEntries(entries []archive.Entry, tokens [][]text.Token) []text.Token {
	n := 0
	for _, t := range tokens {
		n += len(t)
	}
	out := make([]text.Token, 0, n)
	shift := 0
	for i, e := range entries {
		for _, t := range tokens[i] {
			t.Start, t.End = t.Start+shift, t.End+shift
			out = append(out, t)
		}
		shift += len(e.Text) + 1
	}
	return out
}
