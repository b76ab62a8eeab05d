package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/internal/httpserver"
	"minutebook/mcp"
	"minutebook/search"
	"minutebook/search/text"
	"minutebook/web/access"
	"minutebook/web/accounts"
	"minutebook/web/clip"
	"minutebook/web/notice"
)

// Options are the dependencies and settings of the page. Archive, Index and Notes are
// required.
type Options struct {
	Archive *archive.Archive
	Index   *search.Index
	Notes   *notes.DB // notes, ticks, merged people, saved searches

	// Roster counts who appears in which meeting. The caller may keep it up to date, so that
	// no request waits for the counts; nil: the page makes its own.
	Roster *roster.Roster

	// Clips cuts clips, for this page and those before and after it, so that all of them
	// together cut no more at once than one may; nil: the page makes its own, if there is
	// ffmpeg.
	Clips *clip.Cutter

	// SignIns are those under way, of this page and those before and after it; nil: the page
	// makes its own.
	SignIns *SignIns

	// Status returns the value that `status --json` prints; without it the page
	// shows the counts of archive and index only. shown is true where an admin looks at the
	// page of the status: new retention rules count as shown then.
	Status func(ctx context.Context, shown bool) (any, error)

	// Fetch requests a meeting's recording again, and reports whether there is one; nil
	// where recordings are not fetched.
	Fetch func(ctx context.Context, id int64) (bool, error)

	// CheckJob fails for a job that an account does not have; Run begins it now and does
	// not wait for its end. Without them admins run nothing here.
	CheckJob func(account, job string) error
	Run      func(account, job string) error

	// Record writes admins' changes into the audit; nil: nothing does.
	Record func(context.Context, access.Event) error

	// Setup adds the first account; nil: accounts are added elsewhere.
	Setup *Setup

	// Identify returns the visitor of a request; nil: Entry decides.
	Identify func(*http.Request) (Visitor, error)

	// Entry decides who enters where Identify is not set.
	Entry Entry

	// Accounts connects the own accounts of people; nil where it is not known which
	// service the archive reads.
	Accounts *accounts.Connector

	// Audit records who opened, played and downloaded which meeting; nil: nothing does.
	Audit *access.DB

	// Service answers under /external/v1 when it is set.
	Service http.Handler

	// Hosts are additional host names of the page, without port.
	Hosts []string

	// PageURL is the address of the page, for links in the answers to assistants;
	// "" leaves the links out.
	PageURL string

	// NotifyClient sends the notifications of saved searches; nil for one that dials public
	// addresses alone.
	NotifyClient *http.Client

	// Mail sends e-mails of saved searches to a person's own addresses; nil: there are none.
	// MailOwner are the addresses of the owner of an archive without sign-in.
	Mail      notice.Mailer
	MailOwner []string

	// Ready are further parts for /readyz. Each returns the obstacle to its work, or "".
	Ready map[string]func() string
	// Registry registers and gathers the metrics; nil for a new one.
	Registry *prometheus.Registry

	Logger   zerolog.Logger
	Now      func() time.Time // default time.Now
	Location *time.Location   // the zone of displayed times, default time.Local
	Version  string
}

// server is the handler's state. After New only fields with their own lock
// change.
type server struct {
	Options
	base    basePath
	hosts   map[string]bool // names under which the page answers
	pages   *pages
	assets  *assets
	places  *places
	metrics *metrics
	mcp     http.Handler
	bounds  httpserver.StreamBounds // of recordings
	langs   *text.Languages

	oidc      *relyingParty      // nil: nobody signs in at a provider
	passkeys  *webauthn.WebAuthn // nil: there are none at the page's address
	reads     *reads
	forms     *http.CrossOriginProtection // no other site sends forms here
	hasPeople atomic.Bool                 // whether a first person exists

	unaddressed sync.Once // the log says that the proxy names no address

	compress func(http.Handler) http.HandlerFunc

	isMonitor bool // it answers for NewMonitor

	insteadPath string      // where nginx leads, see noticesProxy
	hasProxy    atomic.Bool // a proxy leads to a page that asks nobody

	next atomic.Pointer[server] // the page that has replaced this one; nil: none has
}

// New returns the handler for the page's listener. It fails when Archive, Index or
// Notes is missing, when the Registry has the page's metrics already, and for settings that
// do not fit together.
func New(o Options) (*Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	h := &Handler{Handler: s.handler(), Notify: s.newNotifier().look, server: s}
	for _, r := range s.routes() {
		h.patterns = append(h.patterns, r.pattern)
	}
	return h, CheckPublicURL(o.Entry.PublicURL)
}

// Handler answers all paths of the page.
type Handler struct {
	http.Handler
	// Notify looks once for new matches of saved searches and tells their addresses. One
	// goroutine calls it.
	Notify   func(context.Context) error
	server   *server
	patterns []string
}

// Retire says that next has replaced this page. Answers that are under way go on, and next
// decides from now on who may read on.
func (h *Handler) Retire(next *Handler) { h.server.next.Store(next.server) }

// Patterns returns the patterns of all routes, so that a test of who sees which meeting can
// check that it misses none.
func (h *Handler) Patterns() []string { return slices.Clone(h.patterns) }

func newServer(o Options) (*server, error) {
	if o.Archive == nil || o.Index == nil || o.Notes == nil {
		return nil, errors.New("make the page: it needs an archive, an index and notes")
	}
	o.setDefaults()
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	base := basePathOf(o.Entry.PublicURL)
	pages, err := loadPages(assets, base, o.Location)
	if err != nil {
		return nil, err
	}
	places, err := newPlaces()
	if err != nil {
		return nil, fmt.Errorf("make the page's key: %w", err)
	}
	s := &server{Options: o, base: base, hosts: hostNames(&o), pages: pages, assets: assets, places: places,
		langs: text.NewLanguages(), bounds: httpserver.StreamBounds{Stall: mediaStall, Judge: mediaJudge},
		insteadPath: "/proxied-" + rand.Text()}
	if s.metrics, err = newMetrics(o); err != nil {
		return nil, err
	}
	if s.compress, err = newCompressor(); err != nil {
		return nil, fmt.Errorf("make the page's compression: %w", err)
	}
	if s.mcp, err = s.newAssistants(); err != nil {
		return nil, err
	}
	s.reads = newReads(o.Audit, o.Now)
	return s, s.prepareEntry()
}

// setDefaults fills the options that may be left out.
func (o *Options) setDefaults() {
	if o.Roster == nil {
		o.Roster = roster.New(o.Archive)
	}
	if o.Clips == nil {
		o.Clips = clip.New(clipDir(o.Archive))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SignIns == nil {
		o.SignIns = NewSignIns(o.Now)
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
}

// newAssistants returns the handler of the archive as tools for assistants.
func (s *server) newAssistants() (http.Handler, error) {
	tools, err := mcp.New(mcp.Options{Archive: s.Archive, Index: s.Index, Roster: s.Roster, ViewerOf: viewerOf, View: s.view,
		AddNotes: func(ctx context.Context, r *search.Request) { s.addNotes(ctx, personOf(ctx), r) },
		Opened:   func(ctx context.Context, id int64) error { return s.recordRead(ctx, access.MeetingOpened, id) },
		PageURL:  s.PageURL, Location: s.Location, Version: s.Version, Logger: s.Logger})
	if err != nil {
		return nil, err
	}
	return tools.Handler(), nil
}
