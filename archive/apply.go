package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/rawjson"
	"minutebook/internal/sqlite"
)

// Applied is the outcome of an Apply.
type Applied struct {
	Changed   []int64  // meetings with an effective change, each once, rising
	Position  Position // the head of the log after it
	New       int      // meetings never seen before
	Revisions int      // versions never seen before
}

// Apply stores a batch of observations and sets marks, such as the cursor of the
// page they came from, in one transaction with full synchronisation. The rules of
// package merge decide which version is current; applying the same again changes
// nothing. It fails, with nothing applied, on an observation that is not
// of a meeting or whose part is not JSON, and when the disk does.
func (a *Archive) Apply(ctx context.Context, batch []Observation, marks ...Mark) (Applied, error) {
	prepared, err := a.prepareAll(ctx, batch)
	if err != nil {
		return Applied{}, err
	}
	var t *applying
	position, err := a.change(ctx, func(tx *sql.Tx) error {
		t = newApplying(a, sqlite.NewStatements(ctx, tx))
		for i := range batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := t.observe(&batch[i], prepared[i]); err != nil {
				return observationError(batch[i].RecordingID, err)
			}
		}
		if err := a.saveOrder(ctx, tx); err != nil {
			return err
		}
		return setMarks(ctx, tx, marks)
	})
	if err != nil {
		return Applied{}, err
	}
	slices.Sort(t.applied.Changed)
	t.applied.Changed = slices.Compact(t.applied.Changed)
	t.applied.Position = position
	return t.applied, nil
}

// applying is the transaction of one Apply or Rebuild.
type applying struct {
	*sqlite.Statements
	archive          *Archive
	applied          Applied
	speakers         map[speaker]int64
	at               time.Time
	loggedVisibility map[int64]bool // meetings that were logged with ChangeVisibility

	decoded       map[int64][]api.TranscriptEntry // by revision: decoded before the transaction
	compareOnly   bool                            // entries are written only where they differ
	entriesDiffer bool                            // some did
}

func newApplying(a *Archive, s *sqlite.Statements) *applying {
	return &applying{Statements: s, archive: a, speakers: map[speaker]int64{}, at: a.now(), loggedVisibility: map[int64]bool{}}
}

const insertMeeting = `INSERT INTO meetings (recording_id, number)
	SELECT ?1, coalesce(max(number), 0) + 1 FROM meetings WHERE true ON CONFLICT DO NOTHING`

func (t *applying) observe(o *Observation, parts []preparedPart) error {
	if len(parts) == 0 && o.Source != SourceList {
		return nil // it shows nothing
	}
	var ignored int
	isNew := false
	if gone, err := t.Scan(`SELECT 1 FROM tombstones WHERE recording_id = ?`, []any{o.RecordingID}, &ignored); gone || err != nil {
		return err
	}
	res, err := t.Exec(insertMeeting, o.RecordingID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n > 0 {
		isNew = true
		t.applied.New++
	}
	previous, err := t.readRecorder(o.RecordingID)
	if err != nil {
		return err
	}
	if o.Source == SourceList {
		if err := t.recordListing(o, isNew); err != nil {
			return err
		}
	}
	for _, p := range parts {
		show := t.observePart
		if p.part == api.PartCRM {
			show = t.observeCRM
		}
		err := show(o, p)
		if errors.Is(err, ErrUnreadable) { // of a version that was stored before: a repair decides again
			if _, _, err = t.storeRevision(o, p); err == nil {
				err = t.passUnreadable(o.RecordingID, ErrUnreadable)
			}
		}
		if err != nil {
			return fmt.Errorf("part %s: %w", p.part, err)
		}
	}
	if err := t.observeShares(o); err != nil {
		return fmt.Errorf("shares: %w", err)
	}
	return t.deriveOutside(o.RecordingID, previous, isNew)
}

// observePart records that a part was shown and, where that makes another
// version current, derives its rows and logs the change.
func (t *applying) observePart(o *Observation, p preparedPart) error {
	if p.null {
		_, err := t.Exec(`INSERT INTO parts (recording_id, part) VALUES (?, ?) ON CONFLICT DO NOTHING`, o.RecordingID, p.part)
		return err
	}
	if shared, err := t.hasOtherReaders(o, p.part); err != nil {
		return err
	} else if shared {
		return t.observeShared(o, p)
	}
	v, before, err := t.storeRevision(o, p)
	if err != nil {
		return err
	}
	if p.part == api.PartMeeting {
		return t.observeMeeting(o.RecordingID, v, before, p.raw)
	}
	raw, changed, err := t.decide(o.RecordingID, p.part, v, p.raw)
	if err != nil || !changed {
		return err
	}
	if p.entries != nil { // the transcript itself became current
		err = t.deriveTranscript(o.RecordingID, p.entries)
	} else {
		err = t.derive(o.RecordingID, p.part, raw)
	}
	if err != nil {
		return err
	}
	return t.logChange(o.RecordingID, ChangePart, p.part)
}

// observeMeeting observes the part "meeting".
func (t *applying) observeMeeting(id int64, v, before *merge.Version, raw []byte) error {
	var ignored int
	current, err := t.Scan(`SELECT 1 FROM parts WHERE recording_id = ? AND part = 'meeting' AND revision_id = ?`, []any{id, v.ID}, &ignored)
	if current || err != nil {
		return err // the current version is shown again: nothing changes
	}
	previous, now, err := t.decideMeeting(id, v, before, raw)
	if err != nil {
		return err
	}
	return t.deriveChanges(id, previous, now)
}

// deriveChanges touches the rows, the log and the followers only when the merged part
// "meeting" changed, or who sees the meeting. previous is nil when there was none.
func (t *applying) deriveChanges(id int64, previous *merge.Result, now merge.Result) error {
	if previous == nil || !rawjson.Equal(previous.Raw, now.Raw) {
		if err := t.deriveMerged(id, now); err != nil {
			return err
		}
		return t.logChange(id, ChangePart, api.PartMeeting)
	}
	if previous.Team == now.Team {
		return nil
	}
	if err := t.setSharingTeam(id, now.Team); err != nil {
		return err
	}
	var ignored int
	shared, err := t.Scan(`SELECT 1 FROM meetings WHERE recording_id = ? AND shared_with = ?`, []any{id, api.SharedSingleTeam}, &ignored)
	if err != nil || !shared {
		return err
	}
	return t.logChange(id, ChangeVisibility, "")
}

// logChange logs an effective change of a meeting. A change of its visibility is
// logged once.
func (t *applying) logChange(id int64, kind ChangeKind, part api.Part) error {
	if kind == ChangeVisibility {
		if t.loggedVisibility[id] {
			return nil
		}
		t.loggedVisibility[id] = true
	}
	t.applied.Changed = append(t.applied.Changed, id)
	_, err := t.Exec(`INSERT INTO changes (recording_id, kind, part, at) VALUES (?, ?, ?, ?)`, id, kind, part, t.at.UnixMilli())
	return err
}
