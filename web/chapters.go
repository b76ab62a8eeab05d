package web

import (
	"net/http"
	"time"

	"minutebook/archive"
	"minutebook/web/outline"
)

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
func (p *meetingPage) setOutline(entries []archive.Entry, moment func(int64) string) {
	lines, marked := readOutline(entries, p.Highlights)
	chapters, source := outline.Chapters(lines, marked)
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
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	row, err := s.openMeeting(r, id)
	if err != nil {
		return err
	}
	m, err := s.Archive.Meeting(r.Context(), viewerOf(r.Context()), id)
	if err != nil {
		return err
	}
	entries, err := s.Archive.Entries(r.Context(), id, 0, -1)
	if err != nil {
		return err
	}
	lines, marked := readOutline(entries, newHighlights(m, id))
	out := outlineJSON{Chapters: []chapterJSON{}, Speakers: []talkJSON{}, Questions: []questionJSON{}}
	chapters, source := outline.Chapters(lines, marked)
	out.Source = source
	for _, c := range chapters {
		out.Chapters = append(out.Chapters, chapterJSON{c.At.Seconds(), c.Title})
	}
	_, speakers := newLines(entries, s.newListed(row).Length, -1, marker{})
	for _, sp := range speakers {
		out.Speakers = append(out.Speakers, talkJSON{sp.Name, sp.Talked.Seconds(), sp.Percent})
	}
	for _, q := range outline.Questions(lines) {
		out.Questions = append(out.Questions, questionJSON{q.At.Seconds(), q.Speaker, q.Text})
	}
	return answerJSON(w, r, out)
}
