package search

import (
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// addMoments adds the moments of a meeting, each as one document. The tokens
// are those of its entries.
func addMoments(v *segment.Builder, s *source, tokens [][]text.Token, langs *text.Languages) {
	lang := langs.Get(text.BaseCode(s.row.Language))
	speakerKeys := map[participant]string{}
	for _, st := range cutMoments(s.entries) {
		v.Begin(momentID(s.row.RecordingID, st), nil)
		var words []uint32
		keys := []string{keyMeeting + strconv.FormatInt(s.row.RecordingID, 10)}
		for j := st.From; j < st.To; j++ {
			words = v.Words.AppendWords(words, tokens[j], lang, lang.StopWords)
			p := participant{s.entries[j].Speaker, s.entries[j].Email}
			if speakerKeys[p] == "" {
				speakerKeys[p] = keySpeaker + speakerID(p)
			}
			keys = append(keys, speakerKeys[p])
		}
		v.AddWords(segment.FieldText, words)
		v.AddWords(segment.FieldHighlights, v.Words.AppendWords(nil, v.Words.Tokenize(s.notesDuring(st)), lang, lang.StopWords))
		v.AddKeys(segment.FieldKeys, keys)
	}
}

// notesDuring returns the notes about a moment: highlights that it overlaps, action
// items noted in it.
func (s *source) notesDuring(st entryRange) string {
	from := s.entries[st.From].Offset
	to := s.endOfRange(st)
	var text string
	for _, h := range s.meeting.Highlights.Or(nil) {
		if api.ToOffset(h.StartTime) < to && api.ToOffset(h.EndTime) > from || api.ToOffset(h.StartTime) >= from && api.ToOffset(h.StartTime) < to {
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

// endOfRange is where the next moment begins; for the last one, a minute after its
// last entry.
func (s *source) endOfRange(st entryRange) time.Duration {
	if st.To < len(s.entries) {
		return s.entries[st.To].Offset
	}
	return s.entries[st.To-1].Offset + momentLength
}
