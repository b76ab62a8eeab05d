package inbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// A Callback is the address that the service was given for one answer; a token in
// it stands for the recording and the kind of the answer.
type Callback struct {
	Account     string
	RecordingID int64
	Kind        string // KindTranscript, KindSummary or KindDownload
	ExpiresAt   time.Time
	Key         string // the webhook id under which its delivery is kept
}

// NewCallback makes a token for one callback about a recording, good for ttl,
// and returns it once it is durable. The token is kept nowhere; the caller puts
// it into the address that it gives to the service.
func (i *Inbox) NewCallback(ctx context.Context, account string, recordingID int64, kind string, ttl time.Duration) (token string, err error) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	token = base64.RawURLEncoding.EncodeToString(secret)
	hash := sha256.Sum256([]byte(token))
	now := i.now()
	w := &write{size: 256, do: func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `INSERT INTO callbacks (token_hash, account, recording_id, kind, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?)`, hash[:], account, recordingID, kind, toMillis(now), toMillis(now.Add(ttl)))
		return err
	}}
	if err := i.submit(ctx, w); err != nil {
		return "", fmt.Errorf("make callback token: %w", err)
	}
	return token, nil
}

// Callback returns the callback that a token stands for. A token of another kind is unknown:
// ErrNoCallback. One whose time is over gives ErrCallbackExpired, unless its
// answer had arrived: a repeat of that is still welcome.
func (i *Inbox) Callback(ctx context.Context, kind, token string) (Callback, error) {
	hash := sha256.Sum256([]byte(token))
	c := Callback{Kind: kind, Key: hex.EncodeToString(hash[:])}
	var expires int64
	err := i.db.R.QueryRowContext(ctx, `SELECT account, recording_id, expires_at FROM callbacks
		WHERE token_hash = ? AND kind = ?`, hash[:], kind).Scan(&c.Account, &c.RecordingID, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return Callback{}, ErrNoCallback
	}
	if err != nil {
		return Callback{}, fmt.Errorf("find callback: %w", err)
	}
	c.ExpiresAt = fromMillis(expires)
	if i.now().Before(c.ExpiresAt) {
		return c, nil
	}
	answered, err := i.isAnswered(ctx, c)
	if err != nil {
		return Callback{}, err
	}
	if !answered {
		return Callback{}, ErrCallbackExpired
	}
	return c, nil
}

func (i *Inbox) isAnswered(ctx context.Context, c Callback) (is bool, err error) {
	err = i.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries
		WHERE account = ? AND kind = ? AND webhook_id = ?)`, c.Account, c.Kind, c.Key).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("find callback's answer: %w", err)
	}
	return is, nil
}
