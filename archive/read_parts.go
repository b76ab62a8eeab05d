package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// PartsOf returns a meeting's current parts, verbatim. A part that was only ever
// null is null, one that was never shown is absent. It fails with ErrNotFound or
// ErrForgotten.
func (a *Archive) PartsOf(ctx context.Context, id int64) (map[api.Part]json.RawMessage, error) {
	var parts map[api.Part]json.RawMessage
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) (err error) {
		if err := checkKnown(ctx, tx, id); err != nil {
			return err
		}
		parts, err = a.currentParts(ctx, tx, id, "")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %d: %w", id, err)
	}
	return parts, nil
}

// currentParts reads the parts of a meeting except omitted, which may be "".
func (a *Archive) currentParts(ctx context.Context, tx *sql.Tx, id int64, omitted api.Part) (map[api.Part]json.RawMessage, error) {
	parts := make(map[api.Part]json.RawMessage, 6)
	hasMerged := false
	err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var part api.Part
		var isMerged bool
		var encoding sql.NullInt64
		var body []byte
		if err := rows.Scan(&part, &isMerged, &encoding, &body); err != nil {
			return err
		}
		hasMerged = hasMerged || isMerged
		if !encoding.Valid {
			parts[part] = json.RawMessage("null")
			return nil
		}
		raw, err := a.codec.unpack(int(encoding.Int64), body)
		parts[part] = raw
		return err
	}, `SELECT p.part, p.folded IS NOT NULL, b.encoding, b.body
		FROM parts p LEFT JOIN bodies b ON b.revision_id = p.revision_id WHERE p.recording_id = ? AND p.part <> ?`, id, omitted)
	if err != nil || !hasMerged {
		return parts, err
	}
	t := newApplying(a, sqlite.NewStatements(ctx, tx))
	parts[api.PartMeeting], err = t.readMerged(id)
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// MeetingJSON returns a meeting in the service's shape with all its parts, every
// value verbatim. It fails with ErrNotFound or ErrForgotten.
func (a *Archive) MeetingJSON(ctx context.Context, id int64) ([]byte, error) {
	return a.MeetingJSONFor(ctx, Viewer{All: true}, id)
}

// MeetingJSONFor is MeetingJSON for a viewer, with the viewer's own CRM matches alone.
// It fails with ErrNotFound for a meeting that the viewer does not see.
func (a *Archive) MeetingJSONFor(ctx context.Context, v Viewer, id int64) ([]byte, error) {
	if !v.All {
		if _, err := a.VisibleRow(ctx, v, id); err != nil {
			return nil, err
		}
	}
	parts, err := a.PartsOf(ctx, id)
	if err == nil {
		err = a.keepOwnCRM(ctx, v, id, parts)
	}
	if err != nil {
		return nil, err
	}
	return joinMeeting(id, parts)
}

// MeetingJSONWithoutCRM is MeetingJSON without CRM matches, for passing a meeting on in the
// name of an account: they belong to the account that was shown them.
func (a *Archive) MeetingJSONWithoutCRM(ctx context.Context, id int64) ([]byte, error) {
	parts, err := a.PartsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	delete(parts, api.PartCRM)
	return joinMeeting(id, parts)
}

// joinMeeting joins parts; a meeting known by its content alone still has its
// recording_id.
func joinMeeting(id int64, parts map[api.Part]json.RawMessage) ([]byte, error) {
	if raw, ok := parts[api.PartMeeting]; !ok || string(raw) == "null" {
		parts[api.PartMeeting] = fmt.Appendf(nil, `{"recording_id":%d}`, id)
	}
	raw, err := api.JoinMeeting(parts)
	if err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	return raw, nil
}

// Meeting returns a meeting decoded, with all its parts that the viewer sees. It fails
// as MeetingJSONFor.
func (a *Archive) Meeting(ctx context.Context, v Viewer, id int64) (*api.Meeting, error) {
	raw, err := a.MeetingJSONFor(ctx, v, id)
	if err != nil {
		return nil, err
	}
	m := &api.Meeting{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	return m, nil
}

// PartsOfMany returns the requested current parts of several meetings, verbatim and as
// of one moment, as PartsOf does for one meeting. It unpacks no other parts. A missing
// meeting has no entry. Where some are damaged it returns the others and fails with
// ErrUnreadable; a meeting whose part "meeting" is missing then has no entry.
func (a *Archive) PartsOfMany(ctx context.Context, ids []int64, parts []api.Part) (map[int64]map[api.Part]json.RawMessage, error) {
	wantIDs, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	wantParts, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	byMeeting := make(map[int64]map[api.Part]json.RawMessage, len(ids))
	damaged := map[int64]error{}
	err = a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		merged, err := a.readMany(ctx, tx, byMeeting, damaged, string(wantIDs), string(wantParts))
		if err != nil {
			return err
		}
		for _, id := range merged {
			t := newApplying(a, sqlite.NewStatements(ctx, tx))
			raw, err := t.readMerged(id)
			if errors.Is(err, ErrUnreadable) {
				damaged[id] = err
				delete(byMeeting[id], api.PartMeeting)
				continue
			}
			if err != nil {
				return err
			}
			byMeeting[id][api.PartMeeting] = raw
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %d meetings: %w", len(ids), err)
	}
	for id, failed := range damaged {
		if _, ok := byMeeting[id][api.PartMeeting]; !ok {
			delete(byMeeting, id)
		}
		err = fmt.Errorf("read parts of %d: %w", id, failed)
	}
	return byMeeting, err
}

// readMany fills byMeeting and damaged, and returns the meetings whose part "meeting" is merged
// from several revisions.
func (a *Archive) readMany(ctx context.Context, tx *sql.Tx, byMeeting map[int64]map[api.Part]json.RawMessage, damaged map[int64]error, ids, parts string) (merged []int64, err error) {
	err = sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		var part api.Part
		var isMerged bool
		var encoding sql.NullInt64
		var body sql.RawBytes
		if err := rows.Scan(&id, &part, &isMerged, &encoding, &body); err != nil {
			return err
		}
		if byMeeting[id] == nil {
			byMeeting[id] = make(map[api.Part]json.RawMessage, 6)
		}
		if isMerged {
			merged = append(merged, id)
		}
		if !encoding.Valid {
			byMeeting[id][part] = json.RawMessage("null")
			return nil
		}
		if encoding.Int64 == plainBody {
			byMeeting[id][part] = bytes.Clone(body)
			return nil
		}
		raw, err := a.codec.unpack(int(encoding.Int64), body)
		if err != nil {
			damaged[id] = err
			return nil
		}
		byMeeting[id][part] = raw
		return nil
	}, `SELECT p.recording_id, p.part, p.folded IS NOT NULL, b.encoding, b.body
		FROM parts p LEFT JOIN bodies b ON b.revision_id = p.revision_id
		WHERE p.recording_id IN (SELECT value FROM json_each(?)) AND p.part IN (SELECT value FROM json_each(?))`, ids, parts)
	return merged, err
}

// Notes returns a meeting decoded without its transcript, which is most of its
// bytes: for those who read the transcript as Entries or not at all. It fails
// with ErrNotFound or ErrForgotten.
func (a *Archive) Notes(ctx context.Context, id int64) (*api.Meeting, error) {
	return a.NotesFor(ctx, Viewer{All: true}, id)
}

// NotesFor is Notes with the CRM matches that the viewer sees. It does not ask whether
// the viewer sees the meeting.
func (a *Archive) NotesFor(ctx context.Context, v Viewer, id int64) (*api.Meeting, error) {
	var parts map[api.Part]json.RawMessage
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) (err error) {
		if err = checkKnown(ctx, tx, id); err == nil {
			parts, err = a.currentParts(ctx, tx, id, api.PartTranscript)
		}
		return err
	})
	if err == nil {
		err = a.keepOwnCRM(ctx, v, id, parts)
	}
	m := &api.Meeting{}
	if err == nil {
		err = decodeParts(id, parts, m)
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", id, err)
	}
	return m, nil
}

func decodeParts(id int64, parts map[api.Part]json.RawMessage, m *api.Meeting) error {
	raw, err := joinMeeting(id, parts)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, m)
}

// Entry is one utterance of a transcript.
type Entry struct {
	Index          int           // from 0
	Offset         time.Duration // from the recording's start
	Speaker, Email string        // Email is "" for a speaker matched to no invitee
	Text           string
}

// Entries returns the entries of a transcript from index from up to, not with,
// to; a negative to means all. A meeting without a transcript, or not known,
// has none.
func (a *Archive) Entries(ctx context.Context, id int64, from, to int) ([]Entry, error) {
	if to < 0 || to > maxEntries {
		to = maxEntries
	}
	entries, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, e *Entry) error {
		var seconds float64
		if err := rows.Scan(&e.Index, &seconds, &e.Speaker, &e.Email, &e.Text); err != nil {
			return err
		}
		e.Offset = time.Duration(seconds*1000+0.5) * time.Millisecond
		return nil
	}, `SELECT e.id & 0xfffff, e.offset_seconds, s.name, s.email, e.text
		FROM `+entriesBetween+` JOIN speakers s ON s.id = e.speaker_id ORDER BY e.id`, id, max(from, 0), to)
	if err != nil {
		return nil, fmt.Errorf("read transcript of %d: %w", id, err)
	}
	return entries, nil
}

// entriesBetween are the entries of a meeting from an index up to, not with, another.
const entriesBetween = `meetings m JOIN entries e ON m.recording_id = ?1 AND e.id >= (m.number << 20) + ?2 AND e.id < (m.number << 20) + ?3`

// Said returns the texts of the entries that Entries returns, with a space between them,
// and their number. It takes a third of the time.
func (a *Archive) Said(ctx context.Context, id int64, from, to int) (said string, entries int, err error) {
	if to < 0 || to > maxEntries {
		to = maxEntries
	}
	err = a.db.R.QueryRowContext(ctx, `SELECT coalesce(group_concat(e.text, ' ' ORDER BY e.id), ''), count(*) FROM `+entriesBetween,
		id, max(from, 0), to).Scan(&said, &entries)
	if err != nil {
		return "", 0, fmt.Errorf("read transcript of %d: %w", id, err)
	}
	return said, entries, nil
}
