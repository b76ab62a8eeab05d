package archive

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

// Revision is one version of one part of a meeting.
type Revision struct {
	ID      int64     `json:"id"`
	Part    api.Part  `json:"part"`
	Hash    string    `json:"hash"`    // SHA-256 of the canonical JSON, in hex
	Size    int       `json:"size"`    // bytes of the JSON as it arrived
	Empty   bool      `json:"empty"`   // carries no content
	Current bool      `json:"current"` // is the current part, or gives something of it
	First   time.Time `json:"first_seen"`
	Last    time.Time `json:"last_seen"`
	Seen    []Seen    `json:"seen"` // by account and source
}

// Seen is how a revision was shown: when first and last to an account by a source.
type Seen struct {
	Account string    `json:"account"`
	Source  Source    `json:"source"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Revisions returns all versions of all parts of a meeting, in the order of
// api.Parts and then of their first showing. It fails with ErrNotFound or
// ErrForgotten.
func (a *Archive) Revisions(ctx context.Context, id int64) ([]Revision, error) {
	var revisions []Revision
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		if err := checkKnown(ctx, tx, id); err != nil {
			return err
		}
		for _, part := range api.Parts() {
			versions, err := partRevisions(ctx, tx, id, part)
			if err != nil {
				return err
			}
			revisions = append(revisions, versions...)
		}
		inputs, err := newApplying(a, sqlite.NewStatements(ctx, tx)).readInputs(id)
		if err != nil || len(inputs) < 2 {
			return err
		}
		contributors := merge.Meeting(inputs).Contributors
		for i := range revisions {
			if r := &revisions[i]; r.Part == api.PartMeeting {
				r.Current = slices.Contains(contributors, r.ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read history of %d: %w", id, err)
	}
	return revisions, nil
}

func partRevisions(ctx context.Context, tx *sql.Tx, id int64, part api.Part) ([]Revision, error) {
	var revisions []Revision
	err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		r := Revision{Part: part}
		var s Seen
		var hash []byte
		var first, last int64
		if err := rows.Scan(&r.ID, &hash, &r.Size, &r.Empty, &s.Account, &s.Source, &first, &last, &r.Current); err != nil {
			return err
		}
		s.First, s.Last = sqlite.Time(first), sqlite.Time(last)
		if n := len(revisions); n == 0 || revisions[n-1].ID != r.ID {
			r.Hash, r.First, r.Last = hex.EncodeToString(hash), s.First, s.Last
			revisions = append(revisions, r)
		}
		r0 := &revisions[len(revisions)-1]
		r0.Seen = append(r0.Seen, s)
		if s.First.Before(r0.First) {
			r0.First = s.First
		}
		if s.Last.After(r0.Last) {
			r0.Last = s.Last
		}
		return nil
	}, `SELECT r.id, r.hash, b.size, r.empty, o.account, o.source, o.first_at, o.last_at,
		EXISTS (SELECT 1 FROM parts p WHERE p.recording_id = r.recording_id AND p.part = r.part AND p.revision_id = r.id)
		FROM revisions r JOIN bodies b ON b.revision_id = r.id JOIN observations o ON o.revision_id = r.id
		WHERE r.recording_id = ? AND r.part = ?
		ORDER BY (SELECT min(first_at) FROM observations f WHERE f.revision_id = r.id), r.hash, o.account, o.source`, id, part)
	return revisions, err
}

// RevisionJSON returns the bytes of one revision of a meeting, as they arrived.
// It fails with ErrNotFound when the meeting has no such revision.
func (a *Archive) RevisionJSON(ctx context.Context, id, revision int64) (api.Part, json.RawMessage, error) {
	var part api.Part
	var encoding int
	var body []byte
	err := a.db.R.QueryRowContext(ctx, `SELECT r.part, b.encoding, b.body FROM revisions r JOIN bodies b ON b.revision_id = r.id
		WHERE r.recording_id = ? AND r.id = ?`, id, revision).Scan(&part, &encoding, &body)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return "", nil, fmt.Errorf("read revision %d of meeting %d: %w", revision, id, err)
	}
	raw, err := a.codec.unpack(encoding, body)
	if err != nil {
		return "", nil, fmt.Errorf("read revision %d of meeting %d: %w", revision, id, err)
	}
	return part, raw, nil
}

// AwaitedParts returns the parts beside the summary that a meeting lacks because they were not
// shown since its summary came: the summary was read alone, and no list that would have shown
// the part has been read yet. All lists are read with the other parts, and only some with the
// transcript. A list, delivery or file that shows the summary shows all parts of the meeting.
func (a *Archive) AwaitedParts(ctx context.Context, id int64) ([]api.Part, error) {
	others := slices.DeleteFunc(api.Parts(), func(p api.Part) bool { return p == api.PartMeeting || p == api.PartSummary })
	wanted, err := json.Marshal(others)
	if err != nil {
		return nil, err
	}
	awaited, err := sqlite.Column[api.Part](ctx, a.db.R, `WITH shown AS (SELECT r.part, r.empty, o.source, o.first_order, o.last_order
			FROM revisions r JOIN observations o ON o.revision_id = r.id WHERE r.recording_id = ?1),
		summary AS (SELECT min(first_order) AS came, max(source IN (?4, ?5, ?6)) AS whole FROM shown WHERE part = ?3 AND NOT empty)
		SELECT w.value FROM json_each(?2) w, summary WHERE whole = 0
			AND NOT EXISTS (SELECT 1 FROM shown WHERE part = w.value AND (NOT empty OR last_order > came))
			AND NOT EXISTS (SELECT 1 FROM shown WHERE part = ?7 AND source = ?4 AND last_order > came AND w.value <> ?8)`,
		id, string(wanted), api.PartSummary, SourceList, SourceWebhook, SourceImport, api.PartMeeting, api.PartTranscript)
	if err != nil {
		return nil, fmt.Errorf("read which parts of %d are awaited: %w", id, err)
	}
	return awaited, nil
}

// ShownSince returns from which time on a recorded meeting is new, and no history: from any
// time on where it was delivered, else from the first read of a list that shows it to the
// present holder of an account, whichever account was shown the part. ok is false where the
// service itself did not show the meeting's current part, as where only an imported file holds it.
func (a *Archive) ShownSince(ctx context.Context, id int64, part api.Part) (since time.Time, ok bool, err error) {
	var at sql.NullInt64
	err = a.db.R.QueryRowContext(ctx, `SELECT min(iif(
			EXISTS (SELECT 1 FROM revisions r JOIN observations d ON d.revision_id = r.id WHERE r.recording_id = ?1 AND d.source = ?3), 0,
			(SELECT min(f.at) FROM sightings s JOIN first_reads f USING (account, query, holder)
				WHERE s.recording_id = ?1 AND s.holder = `+holderTerm("s.account")+`)))
		FROM parts p JOIN observations o USING (revision_id) WHERE p.recording_id = ?1 AND p.part = ?2 AND o.source <> ?4`,
		id, part, SourceWebhook, SourceImport).Scan(&at)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("read since when the lists with %d are read: %w", id, err)
	}
	return sqlite.NullTime(at), at.Valid, nil
}
