package service

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"minutebook/archive"
	"minutebook/internal/outbound"
	"minutebook/internal/signature"
	"minutebook/internal/sqlite"
	"minutebook/sample"
	"minutebook/service/fault"
	"minutebook/service/limit"
	"minutebook/service/mirror"
	"minutebook/service/strict"
)

// BasePath is the prefix of every path of the interface (section 9).
const BasePath = "/external/v1"

//go:embed migrations/*.sql
var migrations embed.FS

// DatabaseName is the name of the database in the data directory.
const DatabaseName = "service.db"

// Migrations returns the migrations of service.db.
func Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return files
}

// Options are the archive of a Service and its behaviour. The zero value of
// every field but Archive has a meaning.
type Options struct {
	Archive *archive.Archive
	// Sandbox makes it the whole service by itself: meetings are loaded into
	// it and its webhooks fire when a meeting finishes. Otherwise it is a view
	// of an archive that others fill.
	Sandbox bool
	// Offline is for commands beside no running service: whether it is a
	// sandbox is then read from the data directory, and nothing runs.
	Offline bool
	// PublicURL is where callers reach it, without BasePath, for the links it
	// gives out. Empty: as each caller addressed it. SetPublicURL changes it.
	PublicURL string
	// Generation is how long a video takes from its request to completed.
	Generation time.Duration
	// Window is how limits count, Elevated lowers the heavy limit to 5 (section
	// 8), and DownloadLimit, when above 0, sets the one of download requests, all
	// for this run. Limits of SetLimits hold for later runs of the same data
	// directory too; where neither says, windows are fixed.
	Window        Window
	Elevated      bool
	DownloadLimit int
	// Latency is added to every answer.
	Latency time.Duration
	// Faults go wrong on purpose; docs/service.md has their grammar.
	Faults string
	// AllowPrivate lets webhooks and callbacks go to addresses that are not
	// globally routable.
	AllowPrivate bool
	// Imported serves the meetings too that other programs recorded. A sandbox does so
	// always.
	Imported bool
	// Hold keeps back the newest that many loaded meetings (sandbox), NewEvery
	// finishes one of them every so often; 0 finishes none by itself.
	Hold     int
	NewEvery time.Duration
	// Video and Audio are the recordings of the sandbox; nil means those of
	// package sample.
	Video, Audio func() (io.ReadSeeker, string)

	Now func() time.Time // time.Now when nil
	// Uptime is how long the machine has been running, its sleep included, by a clock that
	// nobody sets; 0 where that is unknown. When nil, it is unknown.
	Uptime func() time.Duration
	Rand   io.Reader // crypto/rand when nil
	Logger zerolog.Logger
	// Transport carries webhooks and callbacks; nil: the network.
	Transport http.RoundTripper
}

// Service is the specification's server. It is safe for concurrent use. It
// belongs to its archive and is closed with it.
type Service struct {
	opts      Options
	log       zerolog.Logger
	now       func() time.Time
	uptime    func() time.Duration
	archive   *archive.Archive
	store     store
	mirror    *mirror.Mirror
	limits    *limit.Limiter
	signer    signature.Key
	cursors   cursors
	faults    *fault.Plan
	strict    *strict.Cache
	client    *http.Client // for webhooks and callbacks
	handler   http.Handler
	publicURL atomic.Pointer[string]
	slots     chan struct{} // one per request being answered
	timeouts  timeouts
	streams   streams
	transfers transfers
	pages     sync.Pool // *[]byte, bodies of lists to be used again

	wake     chan struct{} // rings when the queue has something new
	failures failures
	load     sync.Mutex // one Load, Finish or LoadDirectory at a time
	// directory is a semaphore of 1, held over the reading and writing of the sandbox's
	// users, teams and members; within load.
	directory *semaphore.Weighted
}

// maxConcurrent bounds the requests that are answered at one time.
const maxConcurrent = 256

// New opens service.db in the archive's data directory and returns a Service
// ready to answer. It fails when an option makes no sense.
func New(ctx context.Context, opts Options) (*Service, error) {
	if opts.Archive == nil {
		return nil, errors.New("open service: no archive given")
	}
	s := &Service{opts: opts, log: opts.Logger.With().Str("room", "service").Logger(), archive: opts.Archive,
		slots: make(chan struct{}, maxConcurrent), timeouts: defaultTimeouts(), wake: make(chan struct{}, 1), limits: limit.New(), streams: streams{by: map[string]int{}},
		directory: semaphore.NewWeighted(1),
		pages:     sync.Pool{New: func() any { return new([]byte) }}}
	s.setDefaults()
	var err error
	if s.faults, err = fault.Parse(opts.Faults); err != nil {
		return nil, fmt.Errorf("open service: %w", err)
	}
	_, err = s.archive.SideDB(ctx, DatabaseName, Migrations(), func(db *sqlite.DB) error {
		s.store = store{db: db, now: s.now, rand: s.opts.Rand, archive: s.archive}
		return s.start(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("open service: %w", err)
	}
	s.archive.OnForget("service", s.forget)
	return s, nil
}

// SetPublicURL changes where callers reach it, for the links that it gives out from now on.
// Empty: as each caller addresses it.
func (s *Service) SetPublicURL(url string) {
	url = strings.TrimSuffix(url, "/")
	s.publicURL.Store(&url)
}

func (s *Service) setDefaults() {
	o := &s.opts
	if o.Uptime == nil {
		o.Uptime = func() time.Duration { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Video == nil {
		o.Video = sample.Video
	}
	if o.Audio == nil {
		o.Audio = sample.Audio
	}
	s.SetPublicURL(o.PublicURL)
	s.now, s.uptime = o.Now, o.Uptime
	s.client = outbound.NewClient(outbound.Options{AllowPrivate: o.AllowPrivate, Timeout: deliveryTimeout, FreshConns: true})
	if o.Transport != nil {
		s.client.Transport = o.Transport
	}
}

// start reads the settings of the data directory and applies the options.
func (s *Service) start(ctx context.Context) error {
	secret, err := s.store.secret(ctx)
	if err != nil {
		return err
	}
	s.signer = secret
	if err := s.startSandbox(ctx); err != nil {
		return err
	}
	s.cursors = cursors{secret}
	s.mirror = mirror.New(s.archive, s.opts.Imported || s.opts.Sandbox)
	s.strict = strict.New()
	if err := s.startLimits(ctx); err != nil {
		return err
	}
	s.handler = s.routes()
	if s.opts.Offline {
		return nil
	}
	return s.startFollowing(ctx)
}

// startSandbox marks the data directory of a sandbox, or reads the mark. It fails for a
// sandbox on an archive that has other meetings.
func (s *Service) startSandbox(ctx context.Context) error {
	if !s.opts.Sandbox && !s.opts.Offline {
		return nil
	}
	mark, err := s.store.setting(ctx, "sandbox")
	if err != nil || mark != nil || !s.opts.Sandbox {
		s.opts.Sandbox = mark != nil
		return err
	}
	counts, err := s.archive.Counts(ctx)
	if err != nil {
		return err
	}
	if counts.Meetings+counts.Forgotten > 0 {
		return errors.New("the archive has meetings that no sandbox loaded; give the sandbox a directory of its own")
	}
	return s.store.set(ctx, "sandbox", []byte("1"))
}

// Handler serves everything under BasePath: the endpoints, OAuth's consent
// page, the interface's description and signed media.
func (s *Service) Handler() http.Handler { return s.handler }

// Run sends webhooks and callbacks, follows the archive, and finishes held-back
// meetings, until ctx ends or the archive is closed. Each of these is begun again
// after a failure, see State.
func (s *Service) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { s.keepRunning(ctx, "queue", s.sendQueue) })
	all.Go(func() { s.keepRunning(ctx, "sweep", s.sweep) })
	if s.opts.Sandbox {
		if s.opts.NewEvery > 0 {
			all.Go(func() { s.keepRunning(ctx, "finish", s.finishEvery) })
		}
	} else {
		all.Go(func() { s.keepRunning(ctx, "relay", newRelay(s).follow) })
	}
	all.Wait()
	return nil
}

// wakeSender wakes the sender of the queue.
func (s *Service) wakeSender() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
