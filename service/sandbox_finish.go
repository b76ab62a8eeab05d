package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/pause"
)

// Finish finalises the oldest held-back meeting now, as the real service would:
// it becomes visible and its webhooks fire. ok is false when none is left. Cut
// short by a crash, it is done again from the start, and comes out the same.
func (s *Service) Finish(ctx context.Context) (id int64, ok bool, err error) {
	s.load.Lock()
	defer s.load.Unlock()
	var raw []byte
	err = s.store.db.R.QueryRowContext(ctx, `SELECT recording_id, body FROM held ORDER BY start, recording_id LIMIT 1`).Scan(&id, &raw)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err == nil {
		err = s.finalise(ctx, id, raw)
	}
	if err != nil {
		return 0, false, fmt.Errorf("finish a meeting: %w", err)
	}
	s.wakeSender()
	return id, true, nil
}

// finalise applies a meeting, then shares it, then queues its webhooks and lets
// it leave the held ones in one commit.
func (s *Service) finalise(ctx context.Context, id int64, raw []byte) error {
	o, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, s.now(), raw)
	if err != nil {
		return err
	}
	if _, err := s.archive.Apply(ctx, []archive.Observation{o}); err != nil {
		return err
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	var m api.Meeting
	if err := json.Unmarshal(o.Parts[api.PartMeeting], &m); err != nil {
		return err
	}
	exact, err := s.store.setting(ctx, "directory")
	if err != nil {
		return err
	}
	if err := s.shareLoaded(ctx, exact == nil, newLoaded(id, &m)); err != nil {
		return err
	}
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.decideEvent(ctx, tx, event{recordingID: id}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM held WHERE recording_id = ?`, id)
		return err
	})
}

// finishEvery finishes a meeting every Options.NewEvery while any are left.
func (s *Service) finishEvery(ctx context.Context) error {
	for {
		if err := pause.For(ctx, s.opts.NewEvery); err != nil {
			return err
		}
		id, ok, err := s.Finish(ctx)
		if err != nil {
			return err
		}
		s.reportSuccess("finish")
		if ok {
			s.log.Info().Int64("recording_id", id).Msg("a meeting finished")
		}
	}
}
