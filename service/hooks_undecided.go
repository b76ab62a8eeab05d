package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// undecidedFor is how long a webhook waits until the lists tell whether its owner sees a
// meeting, who recorded it, and which parts it has: an account's new meetings are listed every
// few minutes. A list that shows the same again is no change, so the relay looks every lookEvery.
const (
	undecidedFor = time.Hour
	lookEvery    = time.Minute
)

// readUndecided returns until when each undecided meeting waits for the lists.
func readUndecided(ctx context.Context, tx *sql.Tx) (map[int64]time.Time, error) {
	waiting := map[int64]time.Time{}
	err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var id, until int64
		err := rows.Scan(&id, &until)
		waiting[id] = sqlite.Time(until)
		return err
	}, `SELECT recording_id, until FROM undecided`)
	if err != nil {
		return nil, fmt.Errorf("read undecided meetings: %w", err)
	}
	return waiting, nil
}

// noteUndecided notes whether a meeting waits, and until when.
func noteUndecided(ctx context.Context, tx *sql.Tx, id int64, until time.Time, waits bool) error {
	query, args := `DELETE FROM undecided WHERE recording_id = ?`, []any{id}
	if waits {
		query, args = `INSERT INTO undecided (recording_id, until) VALUES (?, ?) ON CONFLICT DO NOTHING`, append(args, until.UnixMilli())
	}
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("note that meeting %d is undecided: %w", id, err)
	}
	return nil
}

// lastUntil is when a meeting that waited for the lists until a time waits no more for owners
// who have no status.
func lastUntil(until time.Time) time.Time { return until.Add(unknownLimit - undecidedFor) }

// untilUndecided returns how long it is until the relay looks at the meetings that wait for the
// lists: lookEvery at most, and followedEvery where there are none.
func (r *relay) untilUndecided(ctx context.Context) (time.Duration, error) {
	var until sql.NullInt64
	err := r.store.db.R.QueryRowContext(ctx, `SELECT min(until) FROM undecided WHERE until > ?`, r.decided.UnixMilli()).Scan(&until)
	if err != nil {
		return 0, fmt.Errorf("read undecided meetings: %w", err)
	}
	if !until.Valid {
		return followedEvery, nil
	}
	return min(max(sqlite.Time(until.Int64).Sub(r.now()), 0), lookEvery), nil
}

// newOpenTest returns a test of webhooks: whether it is not known yet whether they fire for a
// meeting, which waits for the lists until a time. Within that time a webhook waits while the
// meeting seems to be recorded outside and no plain list can have shown its recorder yet, and
// while no list has shown it to the owner: no list of the owner's accounts or, where the owner
// has none, no list. A webhook that fires waits within that time for the parts that it includes.
// It waits on for an owner who has no status at present, where the meeting may be shared with
// that owner.
func (r *relay) newOpenTest(ctx context.Context, id int64, until time.Time) (func(webhook) bool, error) {
	var m archive.Visibility
	err := r.archive.Visible(ctx, []int64{id}, func(v archive.Visibility) error { m = v; return nil })
	if err != nil {
		return nil, err
	}
	listed, err := r.archive.ListedBy(ctx, id)
	if err != nil {
		return nil, err
	}
	people, err := r.archive.AccountPeople(ctx)
	if err != nil {
		return nil, err
	}
	awaited, err := r.archive.AwaitedParts(ctx, id)
	if err != nil {
		return nil, err
	}
	isStranger := false
	if m.Outside {
		if isStranger, err = r.isStranger(ctx, m); err != nil {
			return nil, err
		}
	}
	// A list that came since the step began has been looked for above, so rights are asked of a
	// mirror that knows it: a change after that has the meeting decided again.
	if err := r.mirror.Refresh(ctx); err != nil {
		return nil, err
	}
	now := r.now()
	return func(hook webhook) bool {
		isEarly := now.Before(until)
		switch {
		case isEarly && isStranger && m.RecorderEmail != hook.email:
			return true
		case r.lacksStatus(hook.email):
			return now.Before(lastUntil(until)) && mayReach(m.Principals, hook.email)
		case !isEarly:
			return false
		case r.fires(hook, id):
			return slices.ContainsFunc(awaited, func(p api.Part) bool { return slices.Contains(hook.includes, p) })
		}
		return isUnlisted(hook, people, listed)
	}, nil
}

// isUnlisted reports whether none of the accounts that list a meeting is of a webhook's owner
// or, where the owner has none, whether there are none.
func isUnlisted(hook webhook, people map[string]string, listed []string) bool {
	hasAccount := false
	for account, email := range people {
		if email == hook.email {
			if slices.Contains(listed, account) {
				return false
			}
			hasAccount = true
		}
	}
	return hasAccount || len(listed) == 0
}

// isStranger reports whether the recorder of a meeting outside may be a colleague whom no plain
// list has shown yet: no list showed a meeting of the recorder's so long ago that a plain list
// would have shown it since.
func (r *relay) isStranger(ctx context.Context, m archive.Visibility) (bool, error) {
	const most = 10 // the newest ones tell
	ids := []int64{m.RecordingID}
	if m.RecorderEmail != "" {
		rows, err := r.archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, RecordedBy: m.RecorderEmail, Limit: most})
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			ids = append(ids, row.RecordingID)
		}
	}
	before := r.now().Add(-undecidedFor)
	for _, id := range ids {
		revisions, err := r.archive.Revisions(ctx, id)
		if errors.Is(err, archive.ErrUnreadable) {
			continue
		}
		if err != nil {
			return false, err
		}
		for _, revision := range revisions {
			if revision.Part == api.PartMeeting && slices.ContainsFunc(revision.Seen, func(s archive.Seen) bool {
				return s.Source == archive.SourceList && s.First.Before(before)
			}) {
				return false, nil
			}
		}
	}
	return true, nil
}

// mayReach reports whether the principals of a meeting may be some of a person whose teams are
// not known. The passes of accounts are none: persons of accounts are known.
func mayReach(principals []string, email string) bool {
	return slices.ContainsFunc(principals, func(p string) bool {
		return p == archive.UserPrincipal(email) || !strings.HasPrefix(p, "user:") && !strings.HasPrefix(p, "account:")
	})
}
