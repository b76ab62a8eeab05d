package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"minutebook/api"
)

// Source is the way by which something arrived.
type Source string

// The sources. All but SourceWebhook and SourceImport are reads.
const (
	SourceWebhook    Source = "webhook"    // a signed delivery
	SourceList       Source = "list"       // an item of GET /meetings
	SourceTranscript Source = "transcript" // GET /recordings/{id}/transcript
	SourceSummary    Source = "summary"    // GET /recordings/{id}/summary
	SourceCallback   Source = "callback"   // a transcript or summary sent on request
	SourceImport     Source = "import"     // a file
)

// read reports whether the source shows content as of the observation's time.
func (s Source) read() bool {
	switch s {
	case SourceList, SourceTranscript, SourceSummary, SourceCallback:
		return true
	}
	return false
}

func (s Source) valid() bool { return s.read() || s == SourceWebhook || s == SourceImport }

// Observation is one showing of a meeting, or of some of its parts.
type Observation struct {
	Account string
	Source  Source
	// At dates the content: of a read, when its request was sent; of a webhook,
	// the meeting's finalisation (created_at), whenever it arrived; of an
	// import, when the file was written.
	At time.Time
	// Order is, of a read, the number that NextOrder gave when its request was
	// sent: the read with the greater one is the newer. 0: At decides.
	Order int64
	// Query is the list query that showed the meeting, for SourceList: "" the
	// plain list, else a name of the caller's choice such as "teams:Sales". It
	// feeds the sightings that CompleteWalk judges.
	Query string
	// Walk is the latest walk of the query that had begun when the page was asked
	// for (LatestWalk), 0 when none had. Absence is judged by it, not by At.
	Walk        int64
	RecordingID int64
	Parts       map[api.Part]json.RawMessage // verbatim; absent parts are left out
	// Shares are all shares of the meeting, of an import that states them; nil: they stay.
	Shares map[string]ShareLevel
}

// FirstForeignID is the lowest id of meetings that another program recorded, and ForeignIDs
// is how many such ids there are: over half of the numbers that are left below 2^53, which
// JavaScript still counts exactly. The service is not known to give any of these. Those above
// are the service's, as those below are.
const (
	FirstForeignID = 8_000_000_000_000_000
	ForeignIDs     = 1 << 49
)

// IsForeignID reports whether an id is one of a meeting that another program recorded.
func IsForeignID(id int64) bool { return id >= FirstForeignID && id < FirstForeignID+ForeignIDs }

// FromMeeting makes the observation of a whole Meeting object. It fails when raw
// is not a JSON object with a recording_id.
func FromMeeting(account string, src Source, at time.Time, raw []byte) (Observation, error) {
	id, parts, err := api.SplitMeeting(raw)
	if err != nil {
		return Observation{}, fmt.Errorf("read meeting: %w", err)
	}
	return Observation{Account: account, Source: src, At: at, RecordingID: id, Parts: parts}, nil
}

// readOrder numbers reads in the order of their sending. A number is the present time
// in milliseconds, or the last number plus one where that is greater, so that a clock
// that was ahead once, or goes back, changes no order. Numbers only order content; dates
// are kept beside them as the clock said.
type readOrder struct {
	mu   sync.Mutex
	last int64 // the greatest that was given or read
}

// NextOrder returns the number of a read that is sent now: greater than that of
// every read that was sent before or is in the archive.
func (a *Archive) NextOrder() int64 {
	a.order.mu.Lock()
	defer a.order.mu.Unlock()
	a.order.last = max(a.order.last+1, a.now().UnixMilli())
	return a.order.last
}

// loadOrder reads the greatest number in the archive.
func (a *Archive) loadOrder(ctx context.Context) error {
	var last string
	err := a.db.R.QueryRowContext(ctx, `SELECT value FROM info WHERE name = 'read_order'`).Scan(&last)
	if err == nil {
		a.order.last, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil {
		return fmt.Errorf("read the order of reads: %w", err)
	}
	return nil
}

// aheadOfClock is how far the order must be ahead for the clock to be in doubt.
const aheadOfClock = time.Second

// takeOrder returns the number of an observation: of a read, the one given when it
// was sent; of a callback, its date, unless the order is ahead of the clock: then a
// new one gets the next number. Everything else that comes without a number is
// ordered by its date. given is the number that the same showing got before, 0 when
// there was none.
func (a *Archive) takeOrder(o *Observation, given int64) int64 {
	at := max(o.At.UnixMilli(), 1)
	switch now := a.now(); {
	case !o.Source.read():
		return at
	case o.Order > 0:
		at = o.Order
	case o.Source == SourceCallback && !o.At.After(now) && a.isOrderAhead(now):
		if given > 0 {
			return given
		}
		return a.NextOrder()
	}
	a.order.mu.Lock()
	defer a.order.mu.Unlock()
	a.order.last = max(a.order.last, at)
	return at
}

func (a *Archive) isOrderAhead(now time.Time) bool {
	a.order.mu.Lock()
	defer a.order.mu.Unlock()
	return a.order.last > now.Add(aheadOfClock).UnixMilli()
}

// saveOrder writes the greatest number in the transaction that uses it.
func (a *Archive) saveOrder(ctx context.Context, tx *sql.Tx) error {
	a.order.mu.Lock()
	last := a.order.last
	a.order.mu.Unlock()
	_, err := tx.ExecContext(ctx, `UPDATE info SET value = ? WHERE name = 'read_order' AND CAST(value AS INTEGER) < ?`,
		strconv.FormatInt(last, 10), last)
	return err
}
