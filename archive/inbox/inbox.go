package inbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"minutebook/internal/sqlite"
)

// The states of a delivery. It is received first, and then applied or, when it
// cannot be understood, quarantined; a replay makes it received again.
const (
	StateReceived    = "received"
	StateApplied     = "applied"
	StateQuarantined = "quarantined"
)

// The kinds of a delivery: a signed webhook, or an answer that the service posts to a
// callback address (section 6.2).
const (
	KindWebhook    = "webhook"
	KindTranscript = "transcript"
	KindSummary    = "summary"
	KindDownload   = "download"
)

// The errors of this package. After ErrDisk and ErrBehind the sender of a delivery may try
// again; the delivery is then not acknowledged, though it can be there already.
var (
	ErrDisk   = errors.New("write the inbox: the disk is full or failing")
	ErrBehind = errors.New("write the inbox: too much is waiting to be committed")
	ErrClosed = errors.New("write the inbox: it is closed")
	// ErrNoDelivery and ErrNoCallback: no such row; ErrBodyDropped: nothing is left to replay;
	// ErrCallbackExpired: too late.
	ErrNoDelivery      = errors.New("no such delivery in the inbox")
	ErrBodyDropped     = errors.New("its body is no longer kept")
	ErrNoCallback      = errors.New("no such callback address")
	ErrCallbackExpired = errors.New("this callback address has expired")
)

// A Delivery is one signed webhook or one answer to a callback address, with its
// state in the inbox. Its sender was answered 200, or will be when it sends again.
type Delivery struct {
	ID         int64 // given by Put's commit, rising
	Account    string
	WebhookID  string // with Account and Kind the key that is accepted once
	ReceivedAt time.Time
	SentAt     time.Time // by the sender's clock; zero: not said
	Header     http.Header
	Body       []byte // nil once it was dropped
	Size       int64  // of the body as sent, also when it was dropped
	State      string // one of the State constants; empty means StateReceived
	SettledAt  time.Time
	Reason     string // why it is in quarantine
	// RecordingID is the recording it is about: known from the start for a
	// callback, after it was applied for a webhook, 0 before.
	RecordingID int64
	Kind        string // one of the Kind constants; empty means KindWebhook
}

// Options are the settings of an inbox. The zero value serves.
type Options struct {
	Create bool // make the file when it is missing
	// Reports are of the migration of a file of an earlier version.
	Reports sqlite.MigrationReports
	Logger  zerolog.Logger
	Now     func() time.Time
	// ConfirmedTime returns the time by which bodies age, which a clock that is set ahead
	// does not move. nil: Now.
	ConfirmedTime func(ctx context.Context) (time.Time, error)
	// IsForgotten reports whether a recording was forgotten: nothing is kept of a
	// delivery about it but its key. nil: none was.
	IsForgotten func(ctx context.Context, recordingID int64) (bool, error)
	// MaxWaiting is how many bytes may wait for a commit before Put answers
	// ErrBehind; 0 means 48 MiB.
	MaxWaiting int64
	// Fault is called by the writer goroutine before (done false) and after each
	// step of a commit, and its error is taken for the step's own; nil in a real
	// inbox. Tests use it to fail a step that did not happen and one that did.
	Fault func(step Step, done bool) error
}

// Step names a step of the inbox's writer, for Options.Fault.
type Step string

// The steps of a commit, in their order. The commit includes the sync of the log.
const (
	StepBegin  Step = "begin"
	StepInsert Step = "insert"
	StepCommit Step = "commit"
)

// An Inbox keeps deliveries from their acknowledgement until they are applied,
// and their keys for good. It has its own file and its own writer, so that
// nothing the archive does delays an acknowledgement. Its methods may be called
// from any goroutine.
type Inbox struct {
	db        *sqlite.DB // W is the writer goroutine's, and for moments emptyLog's
	log       zerolog.Logger
	now       func() time.Time
	fault     func(Step, bool) error
	forgotten func(context.Context, int64) (bool, error) // nil: nothing was

	confirmedTime func(context.Context) (time.Time, error)

	writes      chan *write   // to the writer goroutine
	truncations chan struct{} // full while the log is to be emptied
	stop        chan struct{} // closed by Close: no further writes
	stopped     chan struct{} // closed by the writer goroutine when it ends
	closing     sync.Once

	mu         sync.Mutex
	waiting    int64         // bytes queued or being committed
	maxWaiting int64         // constant
	rate       rate          // of deliveries
	arrived    chan struct{} // closed and replaced when a commit brought deliveries
}

// Open opens the inbox at path, brings its schema up to date and makes
// the commits of an earlier process durable before it relies on them. One process at
// a time may have an inbox open; the archive's lock sees to that.
func Open(ctx context.Context, path string, opts Options) (*Inbox, error) {
	db, err := openDB(ctx, path, opts.Create, opts.Reports)
	if err != nil {
		return nil, err
	}
	i := &Inbox{
		db: db, log: opts.Logger, now: opts.Now, fault: opts.Fault, forgotten: opts.IsForgotten, confirmedTime: opts.ConfirmedTime,
		writes: make(chan *write, 1024), truncations: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		arrived: make(chan struct{}), maxWaiting: opts.MaxWaiting,
	}
	if i.now == nil {
		i.now = time.Now
	}
	if i.confirmedTime == nil {
		i.confirmedTime = func(context.Context) (time.Time, error) { return i.now(), nil }
	}
	if i.fault == nil {
		i.fault = func(Step, bool) error { return nil }
	}
	if i.maxWaiting <= 0 {
		i.maxWaiting = 48 << 20
	}
	if err := i.importOverflow(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open inbox: %w", err), db.Close())
	}
	emptied, err := makeLogDurable(ctx, db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open inbox: make its log durable: %w", err), db.Close())
	}
	if !emptied {
		i.log.Warn().Msg("another program reads inbox.db; its log is emptied when that program ends")
		i.truncations <- struct{}{}
	}
	go i.writeLoop()
	return i, nil
}

// DB is the inbox's database, for checks and copies of it. Only the inbox writes.
func (i *Inbox) DB() *sqlite.DB { return i.db }

// Path is the inbox's file.
func (i *Inbox) Path() string { return i.db.Path }

// Close commits the waiting writes and closes the file. Puts that come later get
// ErrClosed.
func (i *Inbox) Close() error {
	var err error
	i.closing.Do(func() {
		close(i.stop)
		<-i.stopped
		err = i.db.Close()
	})
	return err
}
