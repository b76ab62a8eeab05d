package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Key is an API key as it is listed: without the key, which is shown once.
type Key struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"created_at"`
	Revoked   bool      `json:"revoked"`
}

// CreateKey makes an API key for a person (5.2) and returns it, the only time
// that it can be seen. The person must be active and known: a user, a team's member, the
// owner of an account or somebody of the organisation who recorded a meeting.
func (s *Service) CreateKey(ctx context.Context, email string) (string, error) {
	email = api.FoldEmail(email)
	if err := s.mirror.Refresh(ctx); err != nil {
		return "", err
	}
	if !s.mirror.IsActive(email) {
		return "", fmt.Errorf("create key: %s is not an active user here; see `minutebook service users list`, "+
			"or make one with `minutebook service users create --user EMAIL`", email)
	}
	key, err := s.store.newSecret("mbk_")
	if err != nil {
		return "", err
	}
	id, err := s.store.newID("key_")
	if err != nil {
		return "", err
	}
	_, err = s.store.db.ExecContext(ctx, `INSERT INTO api_keys (id, hash, email, created_at) VALUES (?, ?, ?, ?)`,
		id, hashSecret(key), email, s.now().UnixMilli())
	if err != nil {
		return "", fmt.Errorf("create key: %w", err)
	}
	return key, nil
}

// Keys lists the API keys of a person, or of everybody with email "".
func (s *Service) Keys(ctx context.Context, email string) ([]Key, error) {
	rows, err := s.store.db.R.QueryContext(ctx, `SELECT id, email, created_at, revoked_at IS NOT NULL FROM api_keys
		WHERE ?1 = '' OR email = ?1 ORDER BY created_at, id`, api.FoldEmail(email))
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	defer rows.Close()
	keys := []Key{}
	for rows.Next() {
		var k Key
		var at int64
		if err := rows.Scan(&k.ID, &k.Email, &at, &k.Revoked); err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		k.CreatedAt = sqlite.Time(at)
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// RevokeKey ends a key. The interface offers no way to it (5.3): it is for the
// person whose key it is, on the machine of the archive.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	res, err := s.store.db.ExecContext(ctx, `UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, s.now().UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(fmt.Errorf("revoke key %s: there is no such key in use", id), err)
	}
	return nil
}

// keyOwner returns whose key it is; ok is false for a wrong or revoked one.
func (s *Service) keyOwner(ctx context.Context, key string) (id, email string, ok bool, err error) {
	err = s.store.db.R.QueryRowContext(ctx, `SELECT id, email FROM api_keys WHERE hash = ? AND revoked_at IS NULL`,
		hashSecret(key)).Scan(&id, &email)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("read key: %w", err)
	}
	return id, email, true, nil
}
