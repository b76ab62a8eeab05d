package years

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sync/semaphore"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
	"minutebook/control"
	"minutebook/internal/sqlite"
	"minutebook/receiver"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// account is an account of the configuration.
type account struct {
	name, email string // email is the one that the person keeps
	address     string // the configured one
	key         string
	oauth       bool // connects through the app, without a key
	teams       []string
	recordedBy  []string // addresses
}

// settings are the configuration of the program.
type settings struct {
	accounts  []account
	secrets   map[string]string // webhook secrets by account
	schedule  syncer.Schedule
	downloads bool
	keeps     keeping
	relays    bool // the archive serves the service's interface, and webhooks
}

// house is one start of the program: archive, receiver and sync, as the daemon wires
// them.
type house struct {
	w           *world
	number      int
	dir         string
	archive     *archive.Archive
	receiver    *receiver.Receiver
	secrets     map[string][]string // that the receiver was given, by account
	sync        *syncer.Syncer
	service     *service.Service    // nil unless it relays
	idle        *service.Service    // nil unless it does not relay, and a command needed it
	opening     *semaphore.Weighted // held while idle is read or opened
	access      *access.DB
	elder       *house // whose export it reads; nil: none
	notes       *notes.DB
	activities  control.Activities
	clients     map[string]*api.Client // by key
	budgets     map[string]*api.Budget
	apps        map[string]*api.OAuth // connections, by account
	life        context.Context       // until it is stopped or killed
	stop        context.CancelFunc
	ended       chan struct{}
	changed     chan struct{} // the rules perhaps
	err         error         // of Run; read after ended
	dead        atomic.Bool   // killed: nothing reaches the service or the disk
	diedAt      atomic.Int64  // when it was killed at a commit
	sick        atomic.Int64
	locked      atomic.Bool // somebody else has the write lock of a database
	locks       []func()    // end that
	failing     atomic.Bool // the next commit fails
	failedAt    atomic.Int64
	troubled    atomic.Int64 // since when it is sick or locked
	wasSick     atomic.Bool  // commits failed at some time
	losesTokens atomic.Bool  // it is killed before the next answer with tokens
	fatal       atomic.Int64 // commits until it is killed; 0: never
	expiring    atomic.Int64 // commands that are deleting old recordings
	work        sync.WaitGroup
}

// now is the machine's clock, with a monotonic reading as time.Now has it outside a bubble: that
// reading goes on when the wall clock is set, and no function of package time gives such times.
func (w *world) now() time.Time {
	now := time.Now()
	wall := now.Add(time.Duration(w.skew.Load()))
	fields := (*struct { // of time.Time
		wall uint64 // a flag for the reading, 33 bits of seconds since 1885, and 30 of nanoseconds
		ext  int64  // the reading, in nanoseconds
	})(unsafe.Pointer(&wall))
	seconds := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	fields.wall, fields.ext = 1<<63|uint64(seconds)<<30|uint64(wall.Nanosecond()), now.UnixNano()
	return wall
}

// runningTime is how long a process has run, whatever its wall clock says.
func runningTime() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// uptime is how long the machine has been running.
func (w *world) uptime() time.Duration { return time.Since(firstDay) + time.Hour }

// start opens the program on a data directory.
func (w *world) start(dir string) *house {
	if !w.off.IsZero() && time.Since(w.off) > 20*time.Hour { // after a day, the relay goes on from now
		w.disturbRelay()
	}
	ctx, stop := context.WithCancel(context.Background())
	w.starts++
	w.noteAccounts()
	w.accounts = max(w.accounts, len(w.config.accounts))
	h := &house{w: w, number: w.starts, dir: dir, clients: map[string]*api.Client{}, budgets: map[string]*api.Budget{}, apps: map[string]*api.OAuth{}, life: ctx, stop: stop,
		opening: semaphore.NewWeighted(1),
		ended:   make(chan struct{}), changed: make(chan struct{}, 1)}
	var err error
	h.archive, err = archive.Open(ctx, archive.Options{Dir: dir, Create: true, MediaURL: w.mediaURL(), MediaLine: w.line(h), Now: w.now, Running: runningTime(), Logger: w.logger})
	w.must(err, "open the archive")
	w.must(h.setAccounts(ctx), "set the accounts")
	h.secrets = w.config.secretLists()
	h.receiver, err = receiver.New(receiver.Options{Inbox: h.archive.Inbox(), Accounts: h.secrets, MinFree: 1, Now: w.now, Logger: w.logger})
	w.must(err, "open the receiver")
	h.sync, err = syncer.New(syncer.Options{Archive: h.archive, Accounts: h.accounts(), Schedule: w.config.schedule, MinFree: 1,
		MediaHTTP: &http.Client{Transport: wire{w, h}}, DownloadMedia: w.config.downloads, Now: w.now, Logger: w.logger})
	w.must(err, "make the sync")
	if w.config.relays {
		h.service, err = h.newService(ctx)
		w.must(err, "open the archive's service")
	}
	h.openSides(ctx)
	archivetest.KeepOpen(h.archive) // a connection that is opened again has no hook
	for _, db := range h.archive.Databases() {
		h.watchCommits(db)
	}
	go func() {
		defer close(h.ended)
		h.err = h.sync.Run(ctx)
	}()
	if h.service != nil {
		h.work.Go(func() { _ = h.service.Run(ctx) })
	}
	h.work.Go(func() { h.runRetention(ctx) })
	h.work.Go(func() { h.runForgetting(ctx) })
	w.house = h
	return h
}

// runForgetting finishes the erasures that were cut off, as the daemon does every minute.
func (h *house) runForgetting(ctx context.Context) {
	for {
		unfinished, _, err := h.archive.Forgetting(ctx)
		if err == nil && unfinished > 0 {
			err = h.archive.FinishForgetting(ctx)
		}
		if err != nil && ctx.Err() == nil && !h.isSick() && !h.dead.Load() && !h.w.isExcused(err) {
			h.w.report("finish forgetting: %v", err)
		}
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return
		}
	}
}

// runRetention deletes old recordings, as the daemon does.
func (h *house) runRetention(ctx context.Context) {
	for {
		rules, configured := h.w.rules(), h.w.config.keeps
		_, err := h.archive.ShowRetention(ctx, rules)
		if err == nil {
			h.w.oracle.rule(configured)
		}
		if err == nil {
			h.expiring.Add(1)
			_, err = command[control.RetentionResult](ctx, h, "retention", control.RetentionRequest{}, h.noteExpired)
			h.expiring.Add(-1)
		}
		switch {
		case err == nil || ctx.Err() != nil || h.isSick() || h.dead.Load():
		case h.w.isExcused(err):
			h.w.oracle.mayExpire()
		default:
			h.w.report("retention: %v", err)
		}
		select {
		case <-time.After(6 * time.Hour):
		case <-h.changed:
		case <-ctx.Done():
			return
		}
	}
}

// watchCommits lets commits of a database fail while the disk is sick, and kills the
// program at a commit.
func (h *house) watchCommits(db *sqlite.DB) {
	conn, err := db.W.Conn(context.Background())
	h.w.must(err, "reach the database")
	err = conn.Raw(func(driver any) error {
		driver.(*sqlite3.SQLiteConn).RegisterCommitHook(func() int {
			h.w.disk.wait(h, db.Path)
			if h.fatal.Load() > 0 && h.fatal.Add(-1) == 0 {
				h.dead.Store(true)
				h.diedAt.Store(time.Now().UnixNano())
				h.w.oracle.settle(time.Now(), true) // it may be hours until somebody sees that it is dead
			}
			if h.dead.Load() || h.sick.Load() > 0 || h.failsOnce() {
				h.wasSick.Store(true)
				return 1
			}
			return 0
		})
		return nil
	})
	h.w.must(errors.Join(err, conn.Close()), "watch commits")
}

// accounts are the accounts with their clients. Accounts with the same key share a
// client and its budget.
func (h *house) accounts() (list []syncer.Account) {
	for _, a := range h.w.config.accounts {
		name := a.name + " " + a.key
		if a.oauth && h.clients[name] == nil {
			h.clients[name] = h.newConnection(a)
		}
		if h.clients[name] == nil {
			if h.budgets[a.key] == nil {
				h.budgets[a.key] = api.NewBudget(api.BudgetOptions{Connection: a.name, Store: h.budgetsOf(a.key), Now: h.w.now, Uptime: uptime, Rand: half, Logger: h.w.logger})
			}
			c, err := api.NewClient(api.ClientOptions{BaseURL: baseURL, Credential: api.APIKey(a.key), HTTP: &http.Client{Transport: wire{h.w, h}},
				Budget: h.budgets[a.key], Now: h.w.now, Rand: half, Logger: h.w.logger})
			h.w.must(err, "make a client")
			h.clients[name] = c
		}
		list = append(list, syncer.Account{Name: a.name, Client: h.clients[name], RecordedBy: a.recordedBy, Teams: a.teams, OAuth: a.oauth, AllowPrivate: true})
	}
	return list
}

// uptime is the uptime of the machine, which started long before the world.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

func half() float64 { return 0.5 }

// setAccounts stores the accounts of the configuration in the archive.
func (h *house) setAccounts(ctx context.Context) error {
	var list []archive.AccountSetting
	for _, a := range h.w.config.accounts {
		secret := a.key
		if a.oauth {
			pair, err := h.tokens(ctx, a.name)
			if err != nil {
				return err
			}
			secret = pair.Connection
		}
		list = append(list, archive.AccountSetting{Name: a.name, Email: a.address, Credential: digestOf(secret), Queries: syncer.Queries(a.recordedBy, a.teams)})
	}
	return h.archive.SetAccounts(ctx, list)
}

func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:8])
}

func (s *settings) secretLists() map[string][]string {
	lists := map[string][]string{}
	for _, a := range s.accounts {
		if secret := s.secrets[a.name]; secret != "" {
			lists[a.name] = []string{secret}
		}
	}
	return lists
}

// reload puts a changed configuration into force, as the daemon does.
func (h *house) reload() {
	w := h.w
	w.noteAccounts()
	err := h.setAccounts(context.Background())
	if h.dead.Load() { // killed meanwhile: the next start has the configuration
		return
	}
	w.must(err, "set the accounts")
	w.must(h.sync.SetAccounts(h.accounts()), "set the accounts of the sync")
	w.must(h.sync.SetSchedule(w.config.schedule), "set the schedule")
	h.secrets = w.config.secretLists()
	w.must(h.receiver.SetAccounts(h.secrets, nil), "set the secrets")
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// close stops the program in order.
func (h *house) close() {
	h.unlock()
	if h.expiring.Load() > 0 {
		h.w.oracle.mayExpire()
	}
	began, cost := time.Now(), h.w.disk.cost()
	h.stop()
	<-h.ended
	h.work.Wait()
	if took := time.Since(began) - (h.w.disk.cost() - cost); took > 15*time.Second && h.w.seed >= firstBucketed {
		h.w.report("the stop took %s", took)
	}
	if err := h.archive.Close(); err != nil && !h.dead.Load() && !h.isSick() {
		h.w.report("close: %v", err)
	}
	if h.err != nil && !h.dead.Load() && !h.isSick() {
		h.w.report("the sync ended: %v", h.err)
	}
	h.w.house, h.w.off = nil, h.lastWell()
}

// lastWell returns until when the program could commit: it may have died, or its disk been sick,
// long before the driver looks.
func (h *house) lastWell() time.Time {
	if at := h.diedAt.Load(); at > 0 {
		return time.Unix(0, at)
	}
	if since, isSick := h.w.sickSince(); isSick {
		return since
	}
	return time.Now()
}

// copyDir copies a data directory as a kill would leave it. No goroutine of the program
// runs meanwhile.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(target, raw, info.Mode())
	})
}
