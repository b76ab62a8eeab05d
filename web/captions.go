package web

import (
	"bytes"
	"io"
	"net/http"

	"minutebook/archive/export"
	"minutebook/web/access"
)

// meetingFile is a form of a meeting to take away, as an export writes it too.
type meetingFile struct {
	contentType string
	render      func(io.Writer, *export.Meeting) error
}

// meetingFiles are the files of a meeting: its transcript as captions for any
// player, the whole of it as plain text, and as Markdown.
var meetingFiles = map[string]meetingFile{
	"transcript.vtt": {"text/vtt; charset=utf-8", export.WriteVTT},
	"clip.vtt":       {"text/vtt; charset=utf-8", export.WriteVTT}, // of a span
	"transcript.srt": {"application/x-subrip; charset=utf-8", export.WriteSRT},
	"transcript.txt": {"text/plain; charset=utf-8", export.WriteText},
	"minutes.md":     {"text/markdown; charset=utf-8", export.WriteMarkdown},
}

// meetingFile serves a file of a meeting.
func (s *server) meetingFile(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	row, err := s.visibleRow(r.Context(), id)
	if err != nil {
		return err
	}
	file, ok := meetingFiles[r.PathValue("file")]
	if !ok {
		return s.notFound(w, r)
	}
	if err := s.recordRead(r.Context(), access.MeetingDownloaded, id); err != nil {
		return err
	}
	m, err := export.Read(r.Context(), s.Archive, viewerOf(r.Context()), row)
	if err != nil {
		return err
	}
	if r.PathValue("file") == "clip.vtt" {
		from, to := parseSpan(r)
		if to < 0 {
			return &failure{http.StatusBadRequest, "A clip is asked for as ?t=1:23&end=1:40."}
		}
		cutTranscript(m, from, to)
	}
	var body bytes.Buffer
	if err := file.render(&body, m); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body.Bytes())
	return nil
}
