package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// Actor is who did something: a person's id, or one of the constants.
type Actor string

// The actors that are no person.
const (
	ActorCommand Actor = "command" // a command on the machine itself
	ActorOwner   Actor = "owner"   // the page where access is owner
	ActorSystem  Actor = "system"  // the program by itself, or nobody who is known
)

// personActor returns a person as an actor.
func personActor(person int64) Actor { return Actor(strconv.FormatInt(person, 10)) }

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	SignedIn            EventKind = "sign-in"
	SignInFailed        EventKind = "sign-in.failed"
	SignedOut           EventKind = "session.ended"
	SessionsEnded       EventKind = "sessions.ended"
	PersonAdded         EventKind = "person.added"
	PersonRemoved       EventKind = "person.removed"
	AddressAdded        EventKind = "address.added"
	AddressRemoved      EventKind = "address.removed"
	AdminGranted        EventKind = "admin.granted"
	AdminRevoked        EventKind = "admin.revoked"
	InvitationMade      EventKind = "invitation.made"
	InvitationAccepted  EventKind = "invitation.accepted"
	PasswordSet         EventKind = "password.set"
	PasskeyAdded        EventKind = "passkey.added"
	PasskeyRemoved      EventKind = "passkey.removed"
	IdentityLinked      EventKind = "identity.linked"
	AccountConnected    EventKind = "account.connected"
	AccountEnded        EventKind = "account.ended"
	AccountRefused      EventKind = "account.refused" // not connected: it is somebody else's, or does not work
	TokenMade           EventKind = "token.made"
	TokenRevoked        EventKind = "token.revoked"
	Exported            EventKind = "export"
	Forgot              EventKind = "forget"
	Restored            EventKind = "restore"
	ConfigurationLoaded EventKind = "configuration"
	JobStarted          EventKind = "job.started"         // by a person, beside the schedule
	DeliveryReplayed    EventKind = "delivery.replayed"   // likewise
	RecordingRequested  EventKind = "recording.requested" // likewise
	AccountAdded        EventKind = "account.added"       // to the configuration, on the page
	WebhookTried        EventKind = "webhook.tried"       // made where there was none, and tried
	MeetingOpened       EventKind = "meeting.opened"      // with [audit] reads
	MeetingPlayed       EventKind = "meeting.played"      // likewise
	MeetingDownloaded   EventKind = "meeting.downloaded"  // likewise
)

// IDs name the things that an event is about. There is no room for titles, queries
// and addresses.
type IDs struct {
	Person  int64  `json:"person,omitempty"`
	Session int64  `json:"session,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Meeting int64  `json:"meeting,omitempty"` // its recording_id
	Count   int    `json:"count,omitempty"`   // of meetings, where it is several
	Method  Method `json:"method,omitempty"`
	Hash    string `json:"hash,omitempty"` // SHA-256 of a file, in hexadecimal
	// Account is the name of an account in the configuration, Job one of the sync's.
	Account  string `json:"account,omitempty"`
	Job      string `json:"job,omitempty"`
	Delivery int64  `json:"delivery,omitempty"`
}

// Event is one row of the audit.
type Event struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Actor Actor     `json:"actor"`
	Kind  EventKind `json:"kind"`
	IDs   IDs       `json:"ids"`
}

// EventQuery chooses events. The zero value chooses all.
type EventQuery struct {
	Person int64     // as the actor, or as the one it is about; 0: any, negative: nobody
	Since  time.Time // zero: from the oldest on
	After  int64     // only events with a higher Seq
	Before int64     // only events with a lower Seq; 0: any
	Limit  int       // the newest so many; 0: all
	Oldest bool      // with Limit: the oldest instead
}

// Record adds an event. Its time and place in the chain are set here.
func (d *DB) Record(ctx context.Context, e Event) error {
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error { return d.record(ctx, tx, e) })
}

// record adds an event in a transaction, after the last one.
func (d *DB) record(ctx context.Context, tx *sql.Tx, e Event) error {
	seq, previous, err := lastLink(ctx, tx)
	if err != nil {
		return err
	}
	ids, err := json.Marshal(e.IDs)
	if err != nil {
		return fmt.Errorf("encode audit row: %w", err)
	}
	row := auditRow{seq: seq + 1, at: d.now().UnixMilli(), actor: string(e.Actor), kind: string(e.Kind), ids: string(ids), previous: previous}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit (seq, at, actor, kind, ids, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		row.seq, row.at, row.actor, row.kind, row.ids, row.previous, row.computeHash())
	if err != nil {
		return fmt.Errorf("write audit row: %w", err)
	}
	return nil
}

// lastLink returns the place and hash of the newest row: of the anchor when all
// rows were pruned, and of nothing before the first row.
func lastLink(ctx context.Context, q rowQuerier) (seq int64, hash []byte, err error) {
	err = q.QueryRowContext(ctx, `SELECT seq, hash FROM audit UNION ALL SELECT seq, hash FROM audit_anchor ORDER BY seq DESC LIMIT 1`).Scan(&seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, make([]byte, sha256.Size), nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read the last audit row: %w", err)
	}
	return seq, hash, nil
}

// auditRow is a row as it is stored.
type auditRow struct {
	seq, at          int64
	actor, kind, ids string
	previous, hash   []byte
}

// computeHash returns the hash that the row must have. JSON keeps the fields apart,
// whatever they hold.
func (r auditRow) computeHash() []byte {
	var text bytes.Buffer
	// Strings, numbers and bytes cannot fail to encode.
	_ = json.NewEncoder(&text).Encode([]any{r.seq, r.at, r.actor, r.kind, r.ids, r.previous})
	sum := sha256.Sum256(text.Bytes())
	return sum[:]
}

// Events returns the events that a query chooses, the oldest first.
func (d *DB) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	where, args := []string{"seq > ?"}, []any{q.After}
	add := func(term string, values ...any) { where, args = append(where, term), append(args, values...) }
	if q.Before > 0 {
		add("seq < ?", q.Before)
	}
	if !q.Since.IsZero() {
		add("at >= ?", q.Since.UnixMilli())
	}
	if q.Person != 0 {
		add("(actor = ? OR ids ->> '$.person' = ?)", string(personActor(q.Person)), q.Person)
	}
	order, limit := "DESC", -1
	if q.Oldest {
		order = ""
	}
	if q.Limit > 0 {
		limit = q.Limit
	}
	events, err := sqlite.List(ctx, d.db.R, scanEvent, `SELECT seq, at, actor, kind, ids FROM (
		SELECT * FROM audit WHERE `+strings.Join(where, " AND ")+` ORDER BY seq `+order+` LIMIT ?) ORDER BY seq`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	return events, nil
}

func scanEvent(rows *sql.Rows, e *Event) error {
	var at int64
	var ids string
	if err := rows.Scan(&e.Seq, &at, &e.Actor, &e.Kind, &ids); err != nil {
		return err
	}
	e.At = sqlite.Time(at)
	return json.Unmarshal([]byte(ids), &e.IDs)
}
