package service

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// store is service.db. Each method is one transaction, unless it is given one.
type store struct {
	db      *sqlite.DB
	now     func() time.Time
	rand    io.Reader
	archive *archive.Archive
}

// isForgotten reports whether a meeting was forgotten. Asked in a transaction that
// writes something of the meeting it leaves no gap: one that is forgotten later
// takes the written rows along, see Service.forget.
func (st store) isForgotten(ctx context.Context, id int64) (bool, error) {
	gone, err := st.archive.Forgotten(ctx, []int64{id})
	return gone[id], err
}

// refuseForgotten is 404 for a meeting that was forgotten.
func (st store) refuseForgotten(ctx context.Context, id int64) error {
	gone, err := st.isForgotten(ctx, id)
	if err == nil && gone {
		err = notFound("recording")
	}
	return err
}

// setting reads a setting; nil when it is not set.
func (st store) setting(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := st.db.R.QueryRowContext(ctx, `SELECT value FROM settings WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read setting %s: %w", key, err)
	}
	return value, nil
}

// set writes a setting.
func (st store) set(ctx context.Context, key string, value []byte) error {
	return st.db.WriteTx(ctx, func(tx *sql.Tx) error { return setSetting(ctx, tx, key, value) })
}

func setSetting(ctx context.Context, tx *sql.Tx, key string, value []byte) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO settings (key, value) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
	if err != nil {
		return fmt.Errorf("write setting %s: %w", key, err)
	}
	return nil
}

func deleteSetting(ctx context.Context, tx *sql.Tx, key string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM settings WHERE key = ?`, key); err != nil {
		return fmt.Errorf("delete setting %s: %w", key, err)
	}
	return nil
}

// secret returns the secret of all signatures, made at the first start.
func (st store) secret(ctx context.Context) ([]byte, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(st.rand, secret); err != nil {
		return nil, fmt.Errorf("make signing secret: %w", err)
	}
	_, err := st.db.ExecContext(ctx, `INSERT INTO settings (key, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING`, secret)
	if err != nil {
		return nil, fmt.Errorf("write signing secret: %w", err)
	}
	return st.setting(ctx, "secret")
}

// newSecret makes a credential of 256 bits behind a prefix that tells its kind.
func (st store) newSecret(prefix string) (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(st.rand, b); err != nil {
		return "", fmt.Errorf("make credential: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b), nil
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newID makes an identifier of 27 letters and digits (160 bits) behind a prefix.
func (st store) newID(prefix string) (string, error) {
	b := make([]byte, 20)
	if _, err := io.ReadFull(st.rand, b); err != nil {
		return "", fmt.Errorf("make identifier: %w", err)
	}
	n, sixtyTwo, digit := new(big.Int).SetBytes(b), big.NewInt(62), new(big.Int)
	text := make([]byte, 27)
	for i := range text {
		n.DivMod(n, sixtyTwo, digit)
		text[len(text)-1-i] = base62[digit.Int64()]
	}
	return prefix + string(text), nil
}
