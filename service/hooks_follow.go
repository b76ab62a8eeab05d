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

// followKey is the setting that holds the position in the change log up to
// which webhooks have been decided, followedKey when the relay last ran.
// restoredKey is since when it goes on, after a restore or a long pause: what was
// recorded before is history; pausedKey is when that pause began.
const (
	followKey   = "follow"
	followedKey = "followed"
	restoredKey = "restored"
	pausedKey   = "paused"
)

// longPause is how long the relay may have been off and still send what has come
// meanwhile; it notes every followedEvery that it runs.
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
		return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error { return s.moveTo(ctx, tx, head) })
	}
	var position archive.Position
	if err := json.Unmarshal(value, &position); err != nil {
		return fmt.Errorf("read the relay's position: %w", err)
	}
	changes, err := s.archive.Changes(ctx, position, 1)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return s.restored(ctx, head, err)
	}
	if err != nil {
		return err
	}
	_, err = s.wasOff(ctx, head, changes)
	return err
}

// wasOff goes on from now and tells so where the relay last ran longer than
// longPause ago: the program did not run, or its machine slept.
func (s *Service) wasOff(ctx context.Context, head archive.Position, changes []archive.Change) (bool, error) {
	last, err := s.store.timeSetting(ctx, followedKey)
	if err != nil {
		return false, err
	}
	if last.IsZero() && len(changes) > 0 { // last run by a version that did not note it
		last = changes[0].At
	}
	if last.IsZero() || s.now().Sub(last) <= longPause {
		return false, nil
	}
	return true, s.paused(ctx, head, last)
}

// paused goes on from now after the relay was off for long: what has come since
// is old news. What had been queued before is still sent.
func (s *Service) paused(ctx context.Context, head archive.Position, last time.Time) error {
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		return errors.Join(s.goOn(ctx, tx, head), setTime(ctx, tx, pausedKey, last))
	})
	if err == nil {
		s.log.Warn().Time("off_since", last).Msg("the relay was off for more than a day: webhooks go on from now")
	}
	return err
}

// goOn moves the relay to the head; nothing that was recorded before now fires.
func (s *Service) goOn(ctx context.Context, tx *sql.Tx, head archive.Position) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM undecided`)
	return errors.Join(err, setTime(ctx, tx, restoredKey, s.now()), s.moveTo(ctx, tx, head))
}

// moveTo notes where the relay stands, and that it runs.
func (s *Service) moveTo(ctx context.Context, tx *sql.Tx, p archive.Position) error {
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

// restored goes on from now: nothing that was recorded before fires any more,
// and what the restored queue still held is not sent. why is the archive's word on
// the position that the queue had.
func (s *Service) restored(ctx context.Context, head archive.Position, why error) error {
	var dropped int64
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = 'restored', body = NULL WHERE state = 'pending'`)
		if err != nil {
			return fmt.Errorf("drop deliveries: %w", err)
		}
		if dropped, err = res.RowsAffected(); err != nil {
			return err
		}
		return errors.Join(s.goOn(ctx, tx, head), deleteSetting(ctx, tx, pausedKey))
	})
	if err == nil {
		s.log.Warn().Err(why).Int64("dropped", dropped).Msg("the archive was restored: webhooks go on from now")
	}
	return err
}

// follow is the relay to other tools: it sends meetings whose summary is
// archived for the first time.
func (s *Service) follow(ctx context.Context) error {
	if err := s.mendTimes(ctx); err != nil {
		return err
	}
	r := newRelay(s)
	for {
		if err := r.round(ctx); err != nil {
			return err
		}
		s.works("relay")
	}
}

// round waits for changes, for followedEvery at most, and decides what they send.
func (r relay) round(ctx context.Context) error {
	value, err := r.store.setting(ctx, followKey)
	if err != nil {
		return err
	}
	var position archive.Position
	if err := json.Unmarshal(value, &position); err != nil {
		return fmt.Errorf("read the relay's position: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, followedEvery)
	defer cancel()
	err = r.archive.WaitChange(wait, position)
	switch {
	case err == nil:
		return r.step(ctx, position)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return r.store.db.WriteTx(ctx, func(tx *sql.Tx) error { return setTime(ctx, tx, followedKey, r.now()) })
	}
	return err
}
