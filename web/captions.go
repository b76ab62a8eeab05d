package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"minutebook/archive"
)

// file serves a meeting's transcript as captions for any player (.vtt), as plain
// text (.txt) and, with its summary and action items, as Markdown (.md).
func (s *server) file(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	row, err := s.Archive.Row(r.Context(), id)
	if err != nil {
		return err
	}
	entries, err := s.Archive.Entries(r.Context(), id, 0, -1)
	if err != nil {
		return err
	}
	var body []byte
	contentType := "text/plain; charset=utf-8"
	switch r.PathValue("file") {
	case "transcript.vtt":
		body, contentType = captions(entries, s.listed(row).Length), "text/vtt; charset=utf-8"
	case "transcript.txt":
		body = plainText(entries)
	case "minutes.md":
		m, err := s.Archive.Meeting(r.Context(), id)
		if err != nil {
			return err
		}
		body, contentType = minutesOf(m, s.listed(row), entries), "text/markdown; charset=utf-8"
	default:
		return s.notFound(w, r)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
	return nil
}

// captionGap is how long a caption stays when nobody speaks after it.
const captionGap = 8 * time.Second

// captions writes a transcript as WebVTT, each entry until the next one begins.
// Entries of the same second share it, so that each is shown.
func captions(entries []archive.Entry, length time.Duration) []byte {
	var b bytes.Buffer
	b.WriteString("WEBVTT\n\n")
	for i := 0; i < len(entries); {
		n := i + 1
		for n < len(entries) && entries[n].Offset <= entries[i].Offset {
			n++
		}
		end := max(length, entries[i].Offset+captionGap)
		if n < len(entries) {
			end = entries[n].Offset
		}
		end = min(end, entries[i].Offset+time.Duration(n-i)*time.Minute)
		step := (end - entries[i].Offset) / time.Duration(n-i)
		for k, e := range entries[i:n] {
			from := entries[i].Offset + time.Duration(k)*step
			fmt.Fprintf(&b, "%s --> %s\n%s%s\n\n", vttTime(from), vttTime(from+step), archive.VoiceTag(e.Speaker), archive.VTTText(e.Text))
		}
		i = n
	}
	return b.Bytes()
}

func vttTime(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

func plainText(entries []archive.Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s  %s: %s\n", clock(e.Offset), e.Speaker, strings.Join(strings.Fields(e.Text), " "))
	}
	return b.Bytes()
}
