package export

import (
	"bytes"
	"context"
	"io"

	"minutebook/archive"
)

// writeJSON writes the meeting in the service's shape, byte for byte as stored.
func writeJSON(w io.Writer, raw []byte) error {
	if _, err := w.Write(bytes.TrimSpace(raw)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// writeLines writes all meetings into one file, one per line.
func (x *run) writeLines(ctx context.Context) error {
	f := &file{What: "file:meetings.ndjson", Format: NDJSON, Name: "meetings.ndjson", synced: true}
	if len(x.Recipients) > 0 {
		f.Name += ".age"
	}
	var ids []int64
	err := x.streamFile(ctx, f, func(w io.Writer) error {
		return eachMeeting(ctx, x.archive, x.IDs, func(row *archive.Row) error {
			raw, err := x.archive.MeetingJSON(ctx, row.RecordingID)
			if err != nil {
				return err
			}
			ids = append(ids, row.RecordingID)
			x.count(func(r *Result) { r.Meetings++ })
			_, err = w.Write(append(compactLine(raw), '\n'))
			return err
		})
	})
	if err != nil {
		return err
	}
	return x.ledger.setJoined(ids)
}

// compactLine puts JSON on one line. Only line breaks between values are replaced; a
// string cannot hold one. All other bytes stay as they are stored, those that are no
// UTF-8 too, as in [JSON]: a copy of the archive is verbatim, and no reader is served
// from it.
func compactLine(raw []byte) []byte {
	raw = bytes.ReplaceAll(bytes.TrimSpace(raw), []byte("\n"), []byte(" "))
	return bytes.ReplaceAll(raw, []byte("\r"), []byte(" "))
}
