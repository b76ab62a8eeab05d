package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"minutebook/archive"
	"minutebook/internal/rawjson"
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
			raw, err := x.meetingJSON(ctx, row.RecordingID)
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

// meetingJSON returns a meeting in the service's shape. One that was imported has the other ids that
// name it, so that the archive which imports it knows the same files, and the forgotten meetings.
func (x *run) meetingJSON(ctx context.Context, id int64) ([]byte, error) {
	raw, err := x.archive.MeetingJSON(ctx, id)
	if err != nil || len(x.sameIDs[id]) == 0 {
		return raw, err
	}
	members, err := rawjson.Members(raw)
	if err != nil {
		return nil, err
	}
	out := rawjson.NewObject(len(raw) + 32*len(x.sameIDs[id]))
	for _, m := range members {
		if m.Key != archive.ImportedAsKey {
			out.Add(m.RawKey, m.Value)
		}
	}
	ids, err := json.Marshal(x.sameIDs[id])
	out.Set(archive.ImportedAsKey, ids)
	return out.Bytes(), err
}

// readSameIDs returns the ids that the marks of imports give meetings, by their own.
func readSameIDs(ctx context.Context, a *archive.Archive) (map[int64][]int64, error) {
	marks, err := a.Marks(ctx, archive.ImportedAs)
	if err != nil {
		return nil, err
	}
	same := map[int64][]int64{}
	for key, value := range marks {
		other, err := strconv.ParseInt(strings.TrimPrefix(key, archive.ImportedAs), 10, 64)
		id, failed := strconv.ParseInt(string(value), 10, 64)
		if err = errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("read mark %s: %w", key, err)
		}
		same[id] = append(same[id], other)
	}
	for _, ids := range same {
		slices.Sort(ids)
	}
	return same, nil
}

// compactLine puts JSON on one line. Only line breaks between values are replaced; a
// string cannot hold one. All other bytes stay as they are stored, those that are no
// UTF-8 too, as in [JSON]: a copy of the archive is verbatim, and no reader is served
// from it.
func compactLine(raw []byte) []byte {
	raw = bytes.ReplaceAll(bytes.TrimSpace(raw), []byte("\n"), []byte(" "))
	return bytes.ReplaceAll(raw, []byte("\r"), []byte(" "))
}
