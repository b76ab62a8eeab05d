package web

import (
	"math"
	"net/http"
	"sort"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/search"
	"minutebook/search/text"
	"minutebook/web/outline"
)

// line is an entry of the transcript as the page shows it.
type line struct {
	archive.Entry
	End     time.Duration // when the next one begins
	Address string        // the page at this moment; names the line too where the second alone leads to another one
	Voice   int           // the speaker's colour, 0 to 7; the rest share 8
	First   bool          // the speaker changes here
	Here    bool          // the address asks for this moment
	Beyond  bool          // the first one after the end of the meeting
	Snippet []search.Span // the text with its hits; nil without a match
}

// speaker is a speaker and their share of the talk.
type speaker struct {
	Name    string
	Voice   int
	Talked  time.Duration
	Percent int
}

// voices is the number of speakers with a colour of their own.
const voices = 8

// newLines returns the lines of the transcript, and the speakers by talking time.
func newLines(entries []archive.Entry, length, at time.Duration, m marker) ([]line, []speaker) {
	out := make([]line, len(entries))
	here := lineAt(entries, at)
	talkTime := map[string]time.Duration{}
	var total time.Duration
	for i, e := range entries {
		l := line{Entry: e, End: max(length, e.Offset), Here: i == here, Snippet: m.spans(e.Text),
			First:  i == 0 || entries[i-1].Speaker != e.Speaker,
			Beyond: e.Offset > length && (i == 0 || entries[i-1].Offset <= length)}
		if i+1 < len(entries) {
			l.End = max(e.Offset, entries[i+1].Offset)
		}
		l.Address = "?t=" + formatClock(e.Offset)
		if e.Offset%time.Second != 0 || i > 0 && entries[i-1].Offset == e.Offset {
			l.Address += "#e" + strconv.Itoa(e.Index)
		}
		duration := min(l.End-e.Offset, 3*time.Minute) // a long pause counts for nobody
		talkTime[e.Speaker] += duration
		total += duration
		out[i] = l
	}
	speakers := rankSpeakers(talkTime, total)
	voice := map[string]int{}
	for _, s := range speakers {
		voice[s.Name] = s.Voice
	}
	for i := range out {
		out[i].Voice = voice[out[i].Speaker]
	}
	return out, speakers
}

// talkLength returns the length of a meeting; where that is unknown, a little more than its
// talk has.
func talkLength(length time.Duration, entries []archive.Entry) time.Duration {
	if last := lineAt(entries, math.MaxInt64); length == 0 && last >= 0 {
		return entries[last].Offset + 10*time.Second
	}
	return length
}

func rankSpeakers(talkTime map[string]time.Duration, total time.Duration) []speaker {
	var all []speaker
	for name, duration := range talkTime {
		all = append(all, speaker{Name: name, Talked: duration})
	}
	sort.Slice(all, func(a, b int) bool {
		if all[a].Talked != all[b].Talked {
			return all[a].Talked > all[b].Talked
		}
		return all[a].Name < all[b].Name
	})
	for i := range all {
		all[i].Voice = min(i, voices)
		if total > 0 {
			all[i].Percent = int((all[i].Talked*100 + total/2) / total)
		}
	}
	return all
}

// lineAt returns the index of the entry at a moment: the last one by time that has begun, of
// several at one second the first. Times may run backwards. It is -1 before the first entry
// and for at < 0.
func lineAt(entries []archive.Entry, at time.Duration) int {
	line := -1
	for i, e := range entries {
		if e.Offset <= at && (line < 0 || e.Offset > entries[line].Offset) {
			line = i
		}
	}
	return line
}

// findMatches returns a marker of the query's matches in a meeting. It marks nothing
// if the query does not match the meeting or does not parse.
func (s *server) findMatches(r *http.Request, id int64, query string) (marker, error) {
	if query == "" {
		return marker{}, nil
	}
	answer, err := s.searchWithin(r.Context(), id, query, 20)
	if err != nil || len(answer.Meetings) == 0 {
		return marker{}, r.Context().Err() // show the meeting without marks
	}
	return newMarker(answer.Meetings[0].Moments), nil
}

// chapter is a chapter of a talk on the page.
type chapter struct {
	At             time.Duration
	Title, Address string
}

// question is a question that was asked.
type question struct {
	At                     time.Duration
	Speaker, Text, Address string
}

// readOutline returns the lines and highlights of a meeting for package outline.
func readOutline(entries []archive.Entry, highlights []highlight) ([]outline.Line, []outline.Highlight) {
	lines := make([]outline.Line, len(entries))
	for i, e := range entries {
		lines[i] = outline.Line{At: e.Offset, Speaker: e.Speaker, Text: e.Text}
	}
	marked := make([]outline.Highlight, len(highlights))
	for i, h := range highlights {
		marked[i] = outline.Highlight{At: h.From, Name: h.Summary}
	}
	return lines, marked
}

// setOutline sets the chapters and questions of a talk. moment returns the address of a
// second of the recording.
func (p *meetingPage) setOutline(entries []archive.Entry, language *text.Language, moment func(int64) string) {
	lines, marked := readOutline(entries, p.Highlights)
	chapters, source := outline.Chapters(lines, marked, language.StopWords)
	for _, c := range chapters {
		p.Chapters = append(p.Chapters, chapter{c.At, c.Title, moment(int64(c.At / time.Second))})
	}
	p.NoChapters = source == outline.Even
	for _, q := range outline.Questions(lines) {
		p.Questions = append(p.Questions, question{q.At, q.Speaker, q.Text, moment(int64(q.At / time.Second))})
	}
}

// outlineJSON is the outline of a talk.
type outlineJSON struct {
	Source    outline.Source `json:"chapters_from"`
	Chapters  []chapterJSON  `json:"chapters"`
	Speakers  []talkJSON     `json:"speakers"`
	Questions []questionJSON `json:"questions"`
}

type chapterJSON struct {
	OffsetSeconds float64 `json:"offset_seconds"`
	Title         string  `json:"title"`
}

type talkJSON struct {
	Name          string  `json:"name"`
	TalkedSeconds float64 `json:"talked_seconds"`
	Percent       int     `json:"percent"`
}

type questionJSON struct {
	OffsetSeconds float64 `json:"offset_seconds"`
	Speaker       string  `json:"speaker"`
	Text          string  `json:"text"`
}

// apiOutline answers with chapters, talk time and questions.
func (s *server) apiOutline(w http.ResponseWriter, r *http.Request) error {
	id, row, err := s.openMeetingInPath(r)
	if err != nil {
		return err
	}
	m, err := s.Archive.NotesFor(r.Context(), viewerOf(r.Context()), id)
	if err != nil {
		return err
	}
	entries, err := s.Archive.Entries(r.Context(), id, 0, -1)
	if err != nil {
		return err
	}
	lines, marked := readOutline(entries, newHighlights(m, id))
	out := outlineJSON{Chapters: []chapterJSON{}, Speakers: []talkJSON{}, Questions: []questionJSON{}}
	chapters, source := outline.Chapters(lines, marked, s.langs.Get(text.BaseCode(row.Language)).StopWords)
	out.Source = source
	for _, c := range chapters {
		out.Chapters = append(out.Chapters, chapterJSON{c.At.Seconds(), c.Title})
	}
	_, speakers := newLines(entries, talkLength(s.newListed(row).Length, entries), -1, marker{})
	for _, sp := range speakers {
		out.Speakers = append(out.Speakers, talkJSON{sp.Name, sp.Talked.Seconds(), sp.Percent})
	}
	for _, q := range outline.Questions(lines) {
		out.Questions = append(out.Questions, questionJSON{q.At.Seconds(), q.Speaker, q.Text})
	}
	return answerJSON(w, r, out)
}
