package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/api"
	"minutebook/archive"
)

// followKey is the setting that holds the position in the change log up to
// which webhooks have been decided.
const followKey = "follow"

// startFollowing begins at the head of the log where nothing was followed yet.
func (s *Service) startFollowing(ctx context.Context) error {
	value, err := s.store.setting(ctx, followKey)
	if err != nil || value != nil {
		return err
	}
	return s.followFromNow(ctx)
}

func (s *Service) followFromNow(ctx context.Context) error {
	head, err := s.archive.Head(ctx)
	if err != nil {
		return err
	}
	value, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return s.store.set(ctx, followKey, value)
}

// follow is the relay to other tools: it sends meetings whose summary is
// archived for the first time. A position that is foreign to the log (the
// archive was restored) means going on from now, without sending history.
func (s *Service) follow(ctx context.Context) error {
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
		changes, err := s.archive.Changes(ctx, position, 500)
		if errors.Is(err, archive.ErrForeignEpoch) {
			s.log.Warn().Msg("the archive was restored: webhooks go on from now")
			if err := s.followFromNow(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			if err := s.followFromNow(ctx); err != nil {
				return err
			}
			continue
		}
		if err := s.relay(ctx, position, changes); err != nil {
			return fmt.Errorf("relay: %w", err)
		}
	}
}

// relay decides what the changes send and moves the position, in one commit.
func (s *Service) relay(ctx context.Context, from archive.Position, changes []archive.Change) error {
	if err := s.mirror.refresh(ctx); err != nil {
		return err
	}
	head, err := s.archive.Head(ctx)
	if err != nil {
		return err
	}
	to, err := json.Marshal(archive.Position{Epoch: head.Epoch, Seq: changes[len(changes)-1].Seq})
	if err != nil {
		return err
	}
	if from.Epoch != "" && from.Epoch != head.Epoch {
		return nil // restored meanwhile: the next round finds the foreign epoch
	}
	err = s.store.inTx(ctx, func(tx *sql.Tx) error {
		for _, c := range changes {
			if c.Kind != archive.ChangePart || c.Part != api.PartSummary {
				continue
			}
			if err := s.relayOne(ctx, tx, c.RecordingID); err != nil {
				return err
			}
		}
		return setSetting(ctx, tx, followKey, to)
	})
	s.ring()
	return err
}

func (s *Service) relayOne(ctx context.Context, tx *sql.Tx, id int64) error {
	row, err := s.archive.Row(ctx, id)
	if errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) {
		return nil
	}
	if err != nil {
		return err
	}
	fromService, err := s.archive.FromService(ctx, id, api.PartSummary)
	if err != nil {
		return err
	}
	return s.queueEvent(ctx, tx, event{recordingID: id, judge: func(hook webhook) bool {
		return fromService && !row.Gone && row.Start.After(hook.createdAt)
	}})
}
