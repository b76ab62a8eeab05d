package archive

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

const (
	encodingPlain = 0
	encodingS2    = 1
)

// pressedBytes is how much waits for a commit when compressing stops being worth
// its time, and maxPacking how large a buffer is kept for the next body.
const (
	pressedBytes = 256 << 10
	maxPacking   = 128 << 10
)

const putSQL = `INSERT INTO deliveries
	(account, kind, webhook_id, received_at, sent_at, recording_id, state, settled_at, reason, size, checksum, header, encoding, body,
		spill, spill_at, spill_size)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (account, kind, webhook_id) DO NOTHING`

// Put keeps a delivery and returns when the commit that holds it is on disk:
// only then may its sender be answered 2xx. A delivery whose account, kind and
// webhook id are known already is a duplicate: nothing is changed, whatever its
// body, and Put returns only once the first one is on disk. Put keeps no
// reference to d.Body.
//
// After an error nothing may be acknowledged, but the delivery can be there.
func (i *Inbox) Put(ctx context.Context, d Delivery) (duplicate bool, err error) {
	known := false // written by the writer, read after its answer
	room, _ := i.packing.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	plain := i.pressed()
	args, body, err := i.putArgs(d, room, plain)
	if err != nil {
		return false, err
	}
	w := &write{size: int64(len(body)) + 1024, logged: int64(len(body)) + 1024, arrives: true}
	w.do = func(ctx context.Context, conn *sql.Conn) (err error) {
		if plain && i.spill.takes(int64(len(body))) { // asked here, so that no hold is missed
			w.logged = 1024
			known, err = i.putSpilled(ctx, conn, args, body)
			return err
		}
		known, err = putRow(ctx, conn, args, body, spillRef{})
		return err
	}
	if err := i.submit(ctx, w); err != nil {
		return false, err // room may still be the writer's
	}
	if cap(*room) <= maxPacking {
		i.packing.Put(room)
	}
	if d.State == StateQuarantined && !known {
		return false, i.dropForgotten(ctx, d)
	}
	return known, nil
}

func putRow(ctx context.Context, conn *sql.Conn, args []any, body []byte, at spillRef) (known bool, err error) {
	res, err := conn.ExecContext(ctx, putSQL, append(args, body, at.file, at.at, at.size)...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 0, err
}

// putSpilled puts a body beside SQLite, unless the delivery is known.
func (i *Inbox) putSpilled(ctx context.Context, conn *sql.Conn, args []any, body []byte) (known bool, err error) {
	at, err := i.spill.next(int64(len(body)))
	if err != nil {
		return false, err
	}
	if known, err = putRow(ctx, conn, args, []byte{}, at); err != nil || known {
		return known, err
	}
	i.hasSpilled()
	return false, i.spill.put(at, body)
}

// putArgs are the row of a delivery but for its body, and that, packed.
func (i *Inbox) putArgs(d Delivery, room *[]byte, plain bool) (args []any, packed []byte, err error) {
	if d.Kind == "" {
		d.Kind = KindWebhook
	}
	if d.State == "" {
		d.State = StateReceived
	}
	switch {
	case d.Account == "":
		return nil, nil, errors.New("put delivery: it has no account")
	case d.WebhookID == "":
		return nil, nil, errors.New("put delivery: it has no webhook-id")
	case d.State != StateReceived && d.State != StateQuarantined:
		return nil, nil, fmt.Errorf("put delivery: it cannot arrive as %q", d.State)
	}
	if d.ReceivedAt.IsZero() {
		d.ReceivedAt = i.now()
	}
	var settled int64
	if d.State == StateQuarantined {
		settled = inboxTime(i.now())
	}
	header, err := json.Marshal(d.Header)
	if err != nil {
		return nil, nil, fmt.Errorf("put delivery: %w", err)
	}
	encoding, packed := packBody(d.Body, room, plain)
	return []any{
		d.Account, d.Kind, d.WebhookID, inboxTime(d.ReceivedAt), inboxTime(d.SentAt), d.RecordingID,
		d.State, settled, d.Reason, len(d.Body), checksumOf(packed), string(header), encoding,
	}, packed, nil
}

// packBody compresses a body, in the caller's goroutine and not the writer's, or
// leaves it plain when that is quicker over all. The result is in *room, which
// it may make larger, and shares nothing with body.
func packBody(body []byte, room *[]byte, plain bool) (encoding int, packed []byte) {
	if len(body) > 512 && !plain {
		packed = s2.Encode((*room)[:cap(*room)], body)
		*room = packed
		if len(packed) < len(body)-len(body)/16 {
			return encodingS2, packed
		}
	}
	*room = append((*room)[:0], body...)
	if *room == nil {
		*room = []byte{} // an empty body is not a missing one
	}
	return encodingPlain, *room
}

func checksumOf(packed []byte) int64 { return int64(xxhash.Sum64(packed)) }

// errDamagedBody means that the inbox's file, or one of spilled bodies, is damaged.
var errDamagedBody = errors.New("unpack a delivery's body: the inbox is damaged")

// unpackBody undoes packBody; its errors are errDamagedBody.
func unpackBody(encoding int, checksum int64, packed []byte) ([]byte, error) {
	switch {
	case packed == nil:
		return nil, nil
	case checksumOf(packed) != checksum:
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

// inboxTime writes a time as the inbox's columns hold it: 0 for none.
func inboxTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromInboxTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqlite.Time(ms)
}

func headerOf(text string) http.Header {
	var h http.Header
	if json.Unmarshal([]byte(text), &h) != nil {
		return nil
	}
	return h
}
