package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

// PartsAt returns a meeting's parts as the rules of merge.go make them of the versions
// shown up to a time: the archive as it would have stood then with all
// that is known now. A version that was shown before and after that time, with
// another in between, counts by its first showing. It fails with ErrNotFound
// when nothing of the meeting had been shown yet, or with ErrForgotten.
func (a *Archive) PartsAt(ctx context.Context, id int64, at time.Time) (map[api.Part]json.RawMessage, error) {
	parts := map[api.Part]json.RawMessage{}
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		if err := checkKnown(ctx, tx, id); err != nil {
			return err
		}
		for _, part := range api.Parts() {
			versions, err := a.versionsAt(ctx, tx, id, part, at)
			if err != nil {
				return err
			}
			if len(versions) == 0 {
				continue
			}
			f, err := a.mergeAt(ctx, tx, id, part, versions, at.UnixMilli())
			if err != nil {
				return err
			}
			parts[part] = f.Raw
		}
		if len(parts) == 0 {
			return ErrNotFound
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read meeting %d as of %s: %w", id, at.UTC().Format(time.RFC3339), err)
	}
	return parts, nil
}

// MeetingJSONAt is PartsAt in the service's shape.
func (a *Archive) MeetingJSONAt(ctx context.Context, id int64, at time.Time) ([]byte, error) {
	parts, err := a.PartsAt(ctx, id, at)
	if err != nil {
		return nil, err
	}
	return joinMeeting(id, parts)
}

// versionsAt reads the versions of a part with their dates cut off at a time.
func (a *Archive) versionsAt(ctx context.Context, tx *sql.Tx, id int64, part api.Part, at time.Time) ([]*merge.Version, error) {
	var versions []*merge.Version
	var showings []merge.Showing
	err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		v := &merge.Version{}
		var hash []byte
		var source Source
		var account string
		var first, last int64
		var ended bool
		if err := rows.Scan(&v.ID, &hash, &v.Empty, &account, &source, &first, &last, &ended); err != nil {
			return err
		}
		copy(v.Hash[:], hash)
		if n := len(versions); n > 0 && versions[n-1].ID == v.ID {
			v = versions[n-1]
		} else {
			versions = append(versions, v)
		}
		if source.read() {
			v.ReadAt = max(v.ReadAt, last)
			showings = append(showings, merge.Showing{Version: v.ID, Account: account, First: first, Last: last, Ended: ended})
		} else {
			v.ReportedAt = max(v.ReportedAt, last)
		}
		return nil
	}, `SELECT r.id, r.hash, r.empty, o.account, o.source, o.first_order, iif(o.last_at <= ?3, o.last_order, o.first_order), `+endedTerm("?3")+`
		FROM revisions r JOIN observations o ON o.revision_id = r.id
		WHERE r.recording_id = ?1 AND r.part = ?2 AND o.first_at <= ?3 ORDER BY r.id`, id, part, at.UnixMilli())
	if err != nil {
		return nil, err
	}
	counts, ranks, err := a.rankShown(ctx, tx, part, versions, showings)
	for _, v := range versions {
		v.CountsAt, v.SharingRank = counts[v.ID], ranks[v.ID]
	}
	return versions, err
}

// mergeAt merges the versions of a part, at least one, as of a time.
func (a *Archive) mergeAt(ctx context.Context, tx *sql.Tx, id int64, part api.Part, versions []*merge.Version, at int64) (merge.Result, error) {
	if part == api.PartCRM {
		views, err := readCRM(ctx, tx, []int64{id}, at)
		if err != nil {
			return merge.Result{}, err
		}
		if len(views[id]) == 0 {
			return merge.Result{}, fmt.Errorf("meeting %d has CRM matches without their bytes or their origin; run `minutebook verify --repair`", id)
		}
		v := views[id][0]
		raw, err := a.codec.unpack(v.encoding, v.body)
		return merge.Result{Raw: raw, Base: v.version.ID}, err
	}
	if part != api.PartMeeting {
		v := merge.Greatest(versions)
		raw, err := a.readBody(ctx, tx, v.ID)
		return merge.Result{Raw: raw, Base: v.ID}, err
	}
	inputs, err := a.readBodies(ctx, tx, versions)
	if err != nil {
		return merge.Result{}, err
	}
	return merge.Meeting(inputs), nil
}

// readBodies returns the versions with their bytes.
func (a *Archive) readBodies(ctx context.Context, tx *sql.Tx, versions []*merge.Version) (inputs []merge.Input, err error) {
	for _, v := range versions {
		raw, err := a.readBody(ctx, tx, v.ID)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, merge.Input{Version: v, Raw: raw})
	}
	return inputs, nil
}

func (a *Archive) readBody(ctx context.Context, tx *sql.Tx, revision int64) ([]byte, error) {
	var encoding int
	var body []byte
	err := tx.QueryRowContext(ctx, `SELECT encoding, body FROM bodies WHERE revision_id = ?`, revision).Scan(&encoding, &body)
	if err != nil {
		return nil, err
	}
	return a.codec.unpack(encoding, body)
}
