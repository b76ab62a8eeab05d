package receiver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"minutebook/archive/inbox"
	"minutebook/internal/httpserver"
)

// Inbox is where deliveries are kept: an [*inbox.Inbox]. Its Put returns only
// when the delivery is on disk.
type Inbox interface {
	Put(ctx context.Context, d inbox.Delivery) (duplicate bool, err error)
	Callback(ctx context.Context, kind, token string) (inbox.Callback, error)
	Registrations(ctx context.Context, account string) ([]inbox.Registration, error)
	RunBodyRetention(ctx context.Context, keep time.Duration) error
	Behind(size int64) bool
	Path() string
}

// Options are the settings of a receiver. Inbox is required; zero values of the
// others mean the defaults in their comments.
type Options struct {
	Inbox Inbox
	// Accounts holds the webhook secrets of each account as configured; those
	// of webhooks registered by this archive are read from the inbox. An account
	// may have none yet. Nothing is taken for an account that is not in it.
	Accounts map[string][]string
	// TrustedProxies may name the real client in X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// Forwarders, if any, notes who else sends that header.
	Forwarders *httpserver.Forwarders
	TLSCert    string // PEM files; both or none. Read again when they change
	TLSKey     string

	MaxBody int64 // bytes of one body, 32 MiB
	// MaxMemory is the bytes of all bodies not yet verified and committed: 64 MiB,
	// or room for two of MaxBody.
	MaxMemory int64
	// BodyTime is how long a sender may take for a small body and its headers. A larger
	// body has this time for itself, and a second for every 64 KiB that has come; 10 s.
	BodyTime   time.Duration
	HeaderTime time.Duration // for the headers of a request, 10 s
	CommitTime time.Duration // for the commit before 503, 10 s
	AnswerTime time.Duration // for a sender to take its answer, 10 s
	IdleTime   time.Duration // of a connection between requests, 2 min
	// MaxConnsPerAddr bounds the open connections of one address, except of proxies, as
	// httpserver.Bounds says; beyond, the one that has been useless for the longest is
	// closed.
	MaxConnsPerAddr int
	MaxPerAddr      int   // requests of one address at a time, 2048; beyond: 503
	MinFree         int64 // bytes free on the inbox's disk below which nothing is taken, 64 MiB
	// KeepBodies is how long the bodies of applied deliveries are kept; 0: always.
	KeepBodies time.Duration
	// Handlers serve further addresses on the same listener, by their whole
	// path: where an OAuth app sends people back to.
	Handlers map[string]http.Handler

	Now    func() time.Time
	Logger zerolog.Logger
}

// Receiver takes deliveries. Its methods may be called from any goroutine.
type Receiver struct {
	o       Options
	log     zerolog.Logger
	inbox   Inbox
	keys    atomic.Pointer[keyring]
	memory  memory
	buffers sync.Pool           // of *[usualBuffer]byte
	verify  *semaphore.Weighted // bytes of large bodies being verified
	clients clients
	disk    disk
	failed  atomic.Int64 // when a commit failed, in seconds since 1970; 0: the last one did not
	counts  counts

	handlers atomic.Pointer[map[string]http.Handler] // see Options.Handlers

	refreshing *semaphore.Weighted // held by Refresh
	mu         sync.Mutex          // guards the three, from which keys is made
	configured map[string][]string
	registered map[string][]string
	retired    map[string][]retired
}

// New makes a receiver. It fails when a secret is unusable: not base64, or of
// fewer than 16 bytes, with which anybody could sign.
func New(o Options) (*Receiver, error) {
	if o.Inbox == nil {
		return nil, errors.New("make receiver: it needs an inbox")
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return nil, errors.New("make receiver: tls_cert and tls_key belong together; set both or none")
	}
	o = o.withDefaults()
	r := &Receiver{o: o, log: o.Logger, inbox: o.Inbox,
		registered: map[string][]string{}, retired: map[string][]retired{}, refreshing: semaphore.NewWeighted(1)}
	r.memory.max = o.MaxMemory
	r.verify = semaphore.NewWeighted(max(largeTogether, o.MaxBody))
	r.disk = disk{path: o.Inbox.Path(), min: o.MinFree}
	return r, r.SetAccounts(o.Accounts, o.Handlers)
}

// SetAccounts replaces the secrets of Options.Accounts and the handlers of
// Options.Handlers, also while the receiver serves. A secret that an account has no more
// stays valid for half a minute, as with Refresh; an account that is not in secrets has
// none at once. It changes nothing when a secret is unusable.
func (r *Receiver) SetAccounts(secrets map[string][]string, handlers map[string]http.Handler) error {
	if err := CheckSecrets(secrets); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for account, list := range r.configured {
		if next, ok := secrets[account]; ok {
			r.retireSecrets(account, list, next)
		} else {
			delete(r.retired, account)
		}
	}
	r.configured = maps.Clone(secrets)
	r.handlers.Store(&handlers)
	return r.rebuildKeys()
}

// CheckSecrets fails when a webhook secret of an account is unusable: not base64, or
// of fewer than 16 bytes.
func CheckSecrets(secrets map[string][]string) error {
	_, err := newKeyring(secrets)
	return err
}

func (o Options) withDefaults() Options {
	orBytes := func(v *int64, d int64) { *v = or(*v, d) }
	orBytes(&o.MaxBody, 32<<20)
	orBytes(&o.MaxMemory, max(64<<20, 2*o.MaxBody))
	orBytes(&o.MinFree, 64<<20)
	o.BodyTime = or(o.BodyTime, 10*time.Second)
	o.HeaderTime = or(o.HeaderTime, 10*time.Second)
	o.CommitTime = or(o.CommitTime, 10*time.Second)
	o.AnswerTime = or(o.AnswerTime, 10*time.Second)
	o.IdleTime = or(o.IdleTime, 2*time.Minute)
	o.MaxPerAddr = or(o.MaxPerAddr, 2048)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// Refresh reads the secrets of registered webhooks from the inbox again. Serve calls it
// at its start, and it must be called after a webhook was registered or deleted. A
// removed secret stays valid for half a minute, for deliveries that were under way when
// their webhook was deleted.
func (r *Receiver) Refresh(ctx context.Context) error {
	// Of two at a time the one that has read the older list could come last.
	if err := r.refreshing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("read webhook secrets: %w", err)
	}
	defer r.refreshing.Release(1)
	all, err := r.inbox.Registrations(ctx, "")
	if err != nil {
		return fmt.Errorf("read webhook secrets: %w", err)
	}
	registered := map[string][]string{}
	for _, g := range all {
		if g.Secret == "" {
			continue
		}
		if _, err := newKey(g.Secret); err != nil {
			r.log.Error().Str("account", g.Account).Str("webhook", g.ID).Err(err).Msg("registered webhook is unusable")
			continue
		}
		registered[g.Account] = append(registered[g.Account], g.Secret)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for account, list := range r.registered {
		if _, ok := r.configured[account]; ok {
			r.retireSecrets(account, list, registered[account])
		}
	}
	r.registered = registered
	return r.rebuildKeys()
}

// retireSecrets lets the secrets that an account had and has no more verify until the
// overlap is over. It needs mu.
func (r *Receiver) retireSecrets(account string, before, after []string) {
	now := r.o.Now()
	for _, s := range before {
		if !slices.Contains(after, s) {
			kept := slices.DeleteFunc(r.retired[account], func(old retired) bool { return old.secret == s || !now.Before(old.until) })
			r.retired[account] = append(kept, retired{s, now.Add(overlap)})
		}
	}
}

// rebuildKeys makes the keyring anew. A webhook of an account that is not configured stays
// registered, since its id deletes it at the service, and its secret verifies nothing. It
// needs mu.
func (r *Receiver) rebuildKeys() error {
	registered := maps.Clone(r.registered)
	maps.DeleteFunc(registered, func(account string, _ []string) bool {
		_, ok := r.configured[account]
		return !ok
	})
	k, err := newKeyring(r.configured, registered)
	if err != nil {
		return err
	}
	if err := k.addRetired(r.retired, r.o.Now); err != nil {
		return err
	}
	r.keys.Store(k)
	return nil
}

// Handler serves POST /webhooks/{account} and POST /callbacks/{kind}/{token},
// the paths of Options.Handlers, and answers 404 to everything else.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/webhooks/{account}", r.serve(r.webhook))
	mux.HandleFunc("/callbacks/{kind}/{token}", r.serve(r.callback))
	mux.HandleFunc("/", r.serve(func(*http.Request, *http.ResponseController) refusal { return notFound }))
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if h, ok := (*r.handlers.Load())[q.URL.Path]; ok {
			h.ServeHTTP(w, q)
			return
		}
		mux.ServeHTTP(w, q)
	})
}
