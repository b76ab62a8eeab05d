package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive/archivetest"
	"minutebook/archive/media"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/durable"
	"minutebook/internal/phrase"
	"minutebook/service"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// impatient is the context of somebody who leaves when the context has been looked at
// a number of times.
type impatient struct {
	context.Context
	cancel context.CancelFunc

	mu   sync.Mutex // guards left
	left int
}

func (c *impatient) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		c.cancel()
	}
}

// Done implements [context.Context].
func (c *impatient) Done() <-chan struct{} { c.look(); return c.Context.Done() }

// Err implements [context.Context].
func (c *impatient) Err() error { c.look(); return c.Context.Err() }

// loadedDaemon is a daemon in this process, with the configuration that it loads next.
type loadedDaemon struct {
	*testing.T
	*daemon
	mu    sync.Mutex // guards the fields below
	next  config.Config
	empty bool // the file has no byte
}

// startLoaded starts a daemon whose people connect accounts, of which Ann has one. Nobody
// answers for the service.
func startLoaded(t *testing.T) *loadedDaemon {
	const upstream = "http://127.0.0.1:1/external/v1"
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Web.Access, cfg.Web.PublicURL = t.TempDir(), "127.0.0.1:0", config.AccessPeople, "http://localhost:8377"
	cfg.Service.Enabled = true
	cfg.Web.Accounts = config.OwnAccounts{Keys: strings.Repeat("0f", 32), BaseURL: upstream}
	l := &loadedDaemon{T: t, next: cfg}
	ctx, cancel := context.WithCancel(context.Background())
	d, err := startDaemon(ctx, &cfg, zerolog.Nop(), appOptions{Create: true, Load: l.load, LogLevel: &logLevel{}, ConnectedInterval: 20 * time.Millisecond})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	l.daemon = d
	runDaemon(t, ctx, cancel, d)
	people, err := d.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ann, err := people.AddPerson(t.Context(), access.ActorCommand, "ann@acme.example", "Ann", false)
	if err == nil {
		_, err = people.Connect(t.Context(), ann.Actor(), access.Account{Person: ann.ID, Address: ann.Address(), Kind: access.AccountKey, BaseURL: upstream}, []byte("key"))
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the account is read", func() (bool, any) { names := l.accounts(); return len(names) == 1, names })
	return l
}

func (l *loadedDaemon) load() (*config.Config, control.Configuration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.next
	file := control.Configuration{Path: "/config.toml", SHA256: "of " + next.Web.TimeZone}
	if l.empty {
		file.SHA256 = fmt.Sprintf("%x", sha256.Sum256(nil))
	}
	return &next, file, nil
}

// change has the next load return another time zone.
func (l *loadedDaemon) change(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.Web.TimeZone = fmt.Sprintf("Etc/GMT-%d", n%14+1)
	return l.next.Web.TimeZone
}

// accounts returns the names of the accounts that are read.
func (l *loadedDaemon) accounts() (names []string) {
	l.Helper()
	s, err := l.syncer.Status(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, a := range s.Accounts {
		names = append(names, a.Name)
	}
	return names
}

// TestWhoAsksForAReloadLeaves has whoever asked leave at each step of the reload: either
// nothing has changed or everything has, and the accounts of people stay.
func TestWhoAsksForAReloadLeaves(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	before := l.accounts()
	for n, inARow := 1, 0; inARow < 5; n++ {
		present, next := l.config().Web.TimeZone, l.change(n)
		ctx, cancel := context.WithCancel(l.Context())
		_, err := l.loadAgain(&impatient{Context: ctx, cancel: cancel, left: n})
		isGone := ctx.Err() != nil
		cancel()
		want := next
		if err != nil {
			want = present
		}
		if got := l.config().Web.TimeZone; got != want {
			t.Errorf("at step %d (%v): the time zone is %s, want %s", n, err, got, want)
		}
		if now := l.accounts(); !slices.Equal(now, before) {
			t.Fatalf("at step %d (%v): the accounts are %q, want %q", n, err, now, before)
		}
		if inARow++; isGone {
			inARow = 0
		}
	}
}

// TestAReloadEndsWithTheDaemon loads a configuration while the daemon begins to end: it takes as
// long as all meetings of several accounts, and neither waits for them nor changes anything.
func TestAReloadEndsWithTheDaemon(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	present := l.config()
	l.change(1)
	l.end()
	if _, err := l.loadAgain(t.Context()); !errors.Is(err, context.Canceled) || l.config() != present {
		t.Errorf("%v; another configuration is in force: %t", err, l.config() != present)
	}
}

// TestReloadBesideReaders loads configurations while the state of the daemon is read, for
// the race detector.
func TestReloadBesideReaders(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := l.observe(l.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 10 {
		want := l.change(n)
		if _, err := l.loadAgain(l.Context()); err != nil {
			t.Error(err)
		}
		if got := l.deps().Configuration.SHA256; got != "of "+want {
			t.Errorf("the state is that of %s, want %s", got, want)
		}
	}
	close(done)
	readers.Wait()
}

// TestReloadOfMailReachesThePage has another mail server loaded: the page, which mails
// the meetings that saved searches find, has it too.
func TestReloadOfMailReachesThePage(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	before := l.page.current.Load()
	for _, isNew := range []bool{true, false} {
		l.mu.Lock()
		l.next.Notify.Mail.Host = "mail.example"
		l.mu.Unlock()
		if _, err := l.loadAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now := l.page.current.Load(); (now != before) != isNew {
			t.Errorf("the page is another one: %v, want %v", now != before, isNew)
		}
		before = l.page.current.Load()
	}
}

// TestReloadOfTheAddressReachesTheService has other addresses of the page loaded: the links that the
// service's interface gives out follow, with and without a path and TLS, which a request does not tell.
func TestReloadOfTheAddressReachesTheService(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	archivetest.Apply(t, l.archive, time.Now(), archivetest.Meeting(1, "Walrus", "One walrus."))
	archivetest.Attach(t, l.archive, 1, "a recording")
	if err := l.archive.PutAccountPerson(t.Context(), "main", "bob@example.com"); err != nil {
		t.Fatal(err)
	}
	key, err := l.service.CreateKey(t.Context(), "bob@example.com")
	if err != nil {
		t.Fatal(err)
	}
	const asked = "http://127.0.0.1:8377"
	for address, want := range map[string]string{"https://minutes.example/arch": "https://minutes.example/arch", "http://localhost:8377": asked, "https://other.example": "https://other.example"} {
		l.mu.Lock()
		l.next.Web.PublicURL = address
		l.mu.Unlock()
		if _, err := l.loadAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		var d api.Download
		for path, method := asked+service.BasePath+"/recordings/1/download", http.MethodPost; d.Status != api.DownloadCompleted; path, method = asked+service.BasePath+"/recordings/1/downloads/"+d.DownloadID, http.MethodGet {
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Header.Set("X-Api-Key", key)
			w := httptest.NewRecorder()
			if l.service.Handler().ServeHTTP(w, r); w.Code/100 != 2 || json.Unmarshal(w.Body.Bytes(), &d) != nil {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
		if link := d.Video.Or(api.DownloadFile{}).URL; !strings.HasPrefix(link, want+service.BasePath+"/media/") {
			t.Errorf("with the page at %s the link is %s", address, link)
		}
	}
}

// TestReloadKeepsClipsUnderWay loads another configuration while a clip is being cut: its file
// stays, and the page goes on with the same places for clips.
func TestReloadKeepsClipsUnderWay(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	unfinished := filepath.Join(filepath.Dir(media.PartialPath(l.archive.Dir(), "clip")), durable.TempPrefix+"clip-1")
	if err := os.WriteFile(unfinished, []byte("half a film"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.change(1)
	if _, err := l.loadAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(unfinished); err != nil {
		t.Errorf("the reload has deleted what ffmpeg writes: %v", err)
	}
}

// TestReloadRefusesHalfWrittenFiles loads a file that has become empty, as an editor leaves
// it for a moment, and settings that the daemon cannot use: nothing changes.
func TestReloadRefusesHalfWrittenFiles(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	if _, err := l.loadAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, broken := l.config(), filepath.Join(t.TempDir(), "broken.pem")
	if err := os.WriteFile(broken, []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*config.Config){
		"has become empty":    func(c *config.Config) { c.Web.TimeZone, l.empty = "UTC", true },
		"web.tls_cert: ":      func(c *config.Config) { c.Web.TLSCert, c.Web.TLSKey = broken, broken },
		"receiver.tls_cert: ": func(c *config.Config) { c.Receiver.TLSCert, c.Receiver.TLSKey = broken, broken },
		"64 hexadecimal":      func(c *config.Config) { c.Web.Accounts.Keys = "00" },
		"begins with /me":     func(c *config.Config) { c.Web.PublicURL = "http://localhost:8377/me" },
		"it has 1 bytes": func(c *config.Config) {
			c.Accounts = []config.Account{{Name: "a", WebhookSecrets: []string{"whsec_AA=="}}}
		},
		"is not there": func(c *config.Config) { c.Receiver.TLSCert, c.Receiver.TLSKey = broken+"x", broken },
	} {
		l.mu.Lock()
		next := l.next
		change(&l.next)
		l.mu.Unlock()
		if _, err := l.loadAgain(t.Context()); err == nil || !strings.Contains(phrase.Error(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
		l.mu.Lock()
		l.next, l.empty = next, false
		l.mu.Unlock()
	}
	if l.config() != before {
		t.Error("a refused configuration is in force")
	}
}

// TestAdminsWhoAddAnAccountAtOnce has several admins add the first account at the same time: it
// is that of exactly one, and the others are told.
func TestAdminsWhoAddAnAccountAtOnce(t *testing.T) {
	d := &daemon{application: &application{reload: func(context.Context) (control.Reloaded, error) { return control.Reloaded{}, nil }}}
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	d.cfg.Store(&cfg)
	var admins sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		admins.Go(func() {
			errs[i] = d.addAccount(t.Context(), "main", accounts.Trial{BaseURL: "https://service.example", Key: fmt.Sprint("key-", i)})
		})
	}
	admins.Wait()
	kept, err := os.ReadFile(filepath.Join(cfg.DataDir, config.AddedName))
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if has := strings.Contains(string(kept), fmt.Sprint("key-", i)); has != (err == nil) {
			t.Errorf("admin %d is told %v, and the key is kept: %t", i, err, has)
		}
	}
}
