package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"

	"minutebook/internal/sqlite"
)

// Encodings of a body in the database. Bodies are kept as they came; earlier
// versions compressed them.
const (
	encodingPlain = 0
	encodingS2    = 1
)

const putSQL = `INSERT INTO deliveries
	(account, kind, webhook_id, received_at, sent_at, recording_id, state, size, checksum, header, encoding, body)
	VALUES (?, ?, ?, ?, ?, ?, 'received', ?, ?, ?, ?, ?)
	ON CONFLICT (account, kind, webhook_id) DO NOTHING`

// Put keeps a delivery and returns when the commit that holds it is on disk:
// only then may its sender be answered 2xx. A delivery whose account, kind and
// webhook id are known already is a duplicate: nothing is changed, whatever its
// body, and Put returns only once the first one is on disk. Put keeps no
// reference to d.Body.
//
// After an error nothing may be acknowledged, but the delivery can be there.
func (i *Inbox) Put(ctx context.Context, d Delivery) (duplicate bool, err error) {
	args, err := i.putArgs(d)
	if err != nil {
		return false, err
	}
	repeated := false // written by the writer, read after its answer
	err = i.submit(ctx, &write{size: int64(len(d.Body)) + 1024, arrives: true, do: func(ctx context.Context, conn *sql.Conn) error {
		res, err := conn.ExecContext(ctx, putSQL, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		repeated = n == 0
		return err
	}})
	if err != nil { // the writer may still count
		return false, err
	}
	return repeated, nil
}

// putArgs returns the arguments of putSQL. They hold a copy of the body, since the
// writer may still need it when Put has returned early.
func (i *Inbox) putArgs(d Delivery) ([]any, error) {
	if d.Kind == "" {
		d.Kind = KindWebhook
	}
	switch {
	case d.Account == "":
		return nil, errors.New("put delivery: it has no account")
	case d.WebhookID == "":
		return nil, errors.New("put delivery: it has no webhook-id")
	case d.State != "" && d.State != StateReceived:
		return nil, fmt.Errorf("put delivery: it cannot arrive as %q", d.State)
	}
	if d.ReceivedAt.IsZero() {
		d.ReceivedAt = i.now()
	}
	header, err := json.Marshal(d.Header)
	if err != nil {
		return nil, fmt.Errorf("put delivery: %w", err)
	}
	body := append([]byte{}, d.Body...) // never nil: NULL is a dropped body
	return []any{
		d.Account, d.Kind, d.WebhookID, toMillis(d.ReceivedAt), toMillis(d.SentAt), d.RecordingID,
		len(d.Body), hashBody(body), string(header), encodingPlain, body,
	}, nil
}

func hashBody(packed []byte) int64 { return int64(xxhash.Sum64(packed)) }

// errDamagedBody means that the inbox's file is damaged.
var errDamagedBody = errors.New("unpack a delivery's body: the inbox is damaged")

// unpackBody returns a body as it came; its errors are errDamagedBody.
func unpackBody(encoding int, checksum int64, packed []byte) ([]byte, error) {
	switch {
	case packed == nil:
		return nil, nil
	case hashBody(packed) != checksum:
		return nil, fmt.Errorf("%w: its checksum differs", errDamagedBody)
	case encoding == encodingPlain:
		return packed, nil
	case encoding == encodingS2:
		body, err := s2.Decode(nil, packed)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDamagedBody, err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("%w: unknown encoding %d", errDamagedBody, encoding)
}

// toMillis returns a time as the inbox's columns hold it: 0 for none.
func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqlite.Time(ms)
}

func parseHeader(text string) http.Header {
	var h http.Header
	if json.Unmarshal([]byte(text), &h) != nil {
		return nil
	}
	return h
}
