package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"minutebook/archive"
)

// Settings of the relay. followKey is the position in the change log up to which
// webhooks are decided, followedKey the time when the relay last ran. restoredKey
// is the time from which it goes on after a restore or a long pause: meetings
// recorded before are history. pausedKey is the time when that pause began.
const (
	followKey   = "follow"
	followedKey = "followed"
	restoredKey = "restored"
	pausedKey   = "paused"
)

// longPause is the longest time off after which the relay still sends the meetings
// that came meanwhile. While it runs it writes the time every followedEvery.
const (
	longPause     = 24 * time.Hour
	followedEvery = time.Hour
)

// startFollowing begins at the head of the log where nothing was followed yet,
// and sees whether the archive was restored meanwhile.
func (s *Service) startFollowing(ctx context.Context) error {
	if s.opts.Sandbox {
		return nil // its webhooks fire when a meeting finishes
	}
	head, err := s.archive.Head(ctx)
	if err != nil {
		return err
	}
	value, err := s.store.setting(ctx, followKey)
	if err != nil {
		return err
	}
	if value == nil {
		return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error { return s.setPosition(ctx, tx, head) })
	}
	var position archive.Position
	if err := json.Unmarshal(value, &position); err != nil {
		return fmt.Errorf("read the relay's position: %w", err)
	}
	changes, err := s.archive.Changes(ctx, position, 1)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return s.resumeAfterRestore(ctx, head, err)
	}
	if err != nil {
		return err
	}
	_, err = s.skipLongPause(ctx, head, changes, s.now())
	return err
}

// skipLongPause goes on from now, and returns true, when the relay last ran longer
// than longPause before it resumed: the program did not run, or its machine slept.
func (s *Service) skipLongPause(ctx context.Context, head archive.Position, changes []archive.Change, resumed time.Time) (bool, error) {
	last, err := s.lastRun(ctx)
	if err != nil {
		return false, err
	}
	if last.IsZero() && len(changes) > 0 { // last run by a version that did not note it
		last = changes[0].At
	}
	if last.IsZero() || resumed.Sub(last) <= longPause {
		return false, nil
	}
	return true, s.resumeAfterPause(ctx, head, last)
}

// resumeAfterPause goes on from now: the meetings that came during the pause do not
// fire. Deliveries that were queued before it are still sent.
func (s *Service) resumeAfterPause(ctx context.Context, head archive.Position, last time.Time) error {
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		return errors.Join(s.skipToHead(ctx, tx, head), setTime(ctx, tx, pausedKey, last))
	})
	if err == nil {
		s.log.Warn().Time("off_since", last).Msg("the relay was off for more than a day: webhooks go on from now")
	}
	return err
}

// skipToHead moves the relay to the head; nothing that was recorded before now fires.
func (s *Service) skipToHead(ctx context.Context, tx *sql.Tx, head archive.Position) error {
	restored, err := s.store.timeSetting(ctx, restoredKey)
	if err != nil {
		return err
	}
	if _, err := presentFor(ctx, tx, "", restored.UnixMilli(), s.now().UnixMilli()); err != nil { // keeps one of the future
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM undecided`)
	return errors.Join(err, setTime(ctx, tx, restoredKey, s.now()), s.setPosition(ctx, tx, head))
}

// setPosition notes where the relay stands, and that it runs.
func (s *Service) setPosition(ctx context.Context, tx *sql.Tx, p archive.Position) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return errors.Join(setSetting(ctx, tx, followKey, value), setTime(ctx, tx, followedKey, s.now()))
}

// setTime writes a setting that is a time.
func setTime(ctx context.Context, tx *sql.Tx, key string, at time.Time) error {
	value, err := at.MarshalText()
	if err != nil {
		return err
	}
	return setSetting(ctx, tx, key, value)
}

// timeSetting reads a setting that is a time; zero when it is not set.
func (st store) timeSetting(ctx context.Context, key string) (at time.Time, err error) {
	value, err := st.setting(ctx, key)
	if err == nil && value != nil {
		err = at.UnmarshalText(value)
	}
	if err != nil {
		return at, fmt.Errorf("read setting %s: %w", key, err)
	}
	return at, nil
}

// resumeAfterRestore goes on from now: nothing that was recorded before fires any more,
// and the deliveries that the restored queue still held are not sent. why is the
// archive's error about the position that the queue had.
func (s *Service) resumeAfterRestore(ctx context.Context, head archive.Position, why error) error {
	var dropped int64
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = 'restored', body = NULL WHERE state = 'pending'`)
		if err != nil {
			return fmt.Errorf("drop deliveries: %w", err)
		}
		if dropped, err = res.RowsAffected(); err != nil {
			return err
		}
		return errors.Join(s.skipToHead(ctx, tx, head), deleteSetting(ctx, tx, pausedKey))
	})
	if err == nil {
		s.log.Warn().Err(why).Int64("dropped", dropped).Msg("the archive was restored: webhooks go on from now")
	}
	return err
}

// follow is the relay to other tools: it sends meetings whose summary is
// archived for the first time.
func (r *relay) follow(ctx context.Context) error {
	r.noteRun(ctx)
	if err := errors.Join(r.followTimes(ctx, true), r.clampTimes(ctx)); err != nil {
		return err
	}
	for longest := time.Duration(0); ; longest = followedEvery { // after a failure it notes at once that it runs
		if err := r.waitAndStep(ctx, longest); err != nil {
			return err
		}
		r.reportSuccess("relay")
	}
}

// waitAndStep waits for changes, until an undecided meeting has waited long enough or for the
// longest time, and decides the webhooks that fire.
func (r *relay) waitAndStep(ctx context.Context, longest time.Duration) error {
	value, err := r.store.setting(ctx, followKey)
	if err != nil {
		return err
	}
	var position archive.Position
	if err := json.Unmarshal(value, &position); err != nil {
		return fmt.Errorf("read the relay's position: %w", err)
	}
	most, err := r.untilUndecided(ctx)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, min(most, longest))
	defer cancel()
	err = r.archive.WaitChange(wait, position)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return r.step(ctx, position) // without changes it notes that the relay runs
}
