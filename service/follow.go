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
// which webhooks have been decided, restoredKey when a restored archive was
// first opened: what was recorded before is history.
const (
	followKey   = "follow"
	restoredKey = "restored"
)

// startFollowing begins at the head of the log where nothing was followed yet,
// and sees whether the archive was restored meanwhile.
func (s *Service) startFollowing(ctx context.Context) error {
	head, err := s.archive.Head(ctx)
	if err != nil {
		return err
	}
	value, err := s.store.setting(ctx, followKey)
	if err != nil {
		return err
	}
	if value == nil {
		return s.store.inTx(ctx, func(tx *sql.Tx) error { return setPosition(ctx, tx, head) })
	}
	var position archive.Position
	if err := json.Unmarshal(value, &position); err != nil {
		return fmt.Errorf("read the relay's position: %w", err)
	}
	_, err = s.archive.Changes(ctx, position, 1)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return s.restored(ctx, head, err)
	}
	return err
}

func setPosition(ctx context.Context, tx *sql.Tx, p archive.Position) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return setSetting(ctx, tx, followKey, value)
}

// restored goes on from now: nothing that was recorded before fires any more,
// and what the restored queue still held is not sent. why is the archive's word on
// the position that the queue had.
func (s *Service) restored(ctx context.Context, head archive.Position, why error) error {
	var dropped int64
	err := s.store.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = 'restored', body = NULL WHERE state = 'pending'`)
		if err != nil {
			return fmt.Errorf("drop deliveries: %w", err)
		}
		if dropped, err = res.RowsAffected(); err != nil {
			return err
		}
		now, err := s.now().MarshalText()
		if err != nil {
			return err
		}
		return errors.Join(setSetting(ctx, tx, restoredKey, now), setPosition(ctx, tx, head))
	})
	if err == nil {
		s.log.Warn().Err(why).Int64("dropped", dropped).Msg("the archive was restored: webhooks go on from now")
	}
	return err
}

// follow is the relay to other tools: it sends meetings whose summary is
// archived for the first time.
func (s *Service) follow(ctx context.Context) error {
	r := relay{Service: s, since: map[string]time.Time{}}
	for {
		value, err := s.store.setting(ctx, followKey)
		if err != nil {
			return err
		}
		var position archive.Position
		if err := json.Unmarshal(value, &position); err != nil {
			return fmt.Errorf("read the relay's position: %w", err)
		}
		if err := s.archive.WaitChange(ctx, position); err != nil {
			return err
		}
		if err := r.step(ctx, position); err != nil {
			return fmt.Errorf("relay: %w", err)
		}
	}
}
