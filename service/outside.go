package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"minutebook/api"
)

// OutsideRecorders lists, in alphabetical order, the addresses outside the
// organisation that recorded a loaded meeting, held-back ones included. The
// plain list leaves their meetings out (4.1); a client asks for them by
// recorded_by[].
func (s *Service) OutsideRecorders(ctx context.Context) ([]string, error) {
	if err := s.mirror.refresh(ctx); err != nil {
		return nil, err
	}
	recorders := s.mirror.recorders()
	held, err := s.heldRecorders(ctx)
	if err != nil {
		return nil, fmt.Errorf("list recorders of held meetings: %w", err)
	}
	d := s.mirror.directory()
	outside := slices.DeleteFunc(append(recorders, held...), func(email string) bool {
		return email == "" || !d.external(email)
	})
	slices.Sort(outside)
	return slices.Compact(outside), nil
}

// recorders lists who recorded the meetings that are visible to somebody.
func (m *mirror) recorders() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var emails []string
	for _, e := range m.order {
		emails = append(emails, m.words.texts[e.recorder])
	}
	return emails
}

func (s *Service) heldRecorders(ctx context.Context) ([]string, error) {
	rows, err := s.store.db.R.QueryContext(ctx, `SELECT body FROM held`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var emails []string
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		var m api.Meeting
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		emails = append(emails, foldEmail(m.RecordedBy.Email))
	}
	return emails, rows.Err()
}
