package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/config"
	"minutebook/internal/notify"
	"minutebook/internal/sqlite"
	"minutebook/internal/sqlite/frozen"
	"minutebook/internal/testrun"
)

// TestANewVersionNamesItsMigrations starts two versions after 0.9.0 on its archive: the first
// one migrates it.
func TestANewVersionNamesItsMigrations(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	texts := make(chan string, 10)
	phone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, _ := io.ReadAll(r.Body); strings.Contains(r.Header.Get("Title"), "version") {
			texts <- string(text)
		}
	}))
	t.Cleanup(phone.Close)
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Notify.AllowPrivate = frozen.Directory(t, "0.9.0"), "127.0.0.1:0", true
	cfg.Notify.Hooks = []config.Notice{{Name: "phone", URL: phone.URL, Format: notify.FormatNtfy}}
	db, err := sqlite.Open(t.Context(), filepath.Join(cfg.DataDir, "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.W.Exec(`INSERT INTO marks VALUES (?, ?)`, notifyKey, []byte(`{"channels": {}, "version": "0.9.0"}`))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, want string }{
		{"0.10.0", `^Version 0\.10\.0 replaces 0\.9\.0\. This start has migrated archive\.db \(schema \d+ to \d\d+\)(, \w+\.db \(schema \d+ to \d+\))*\.$`},
		{"0.10.1", `^Version 0\.10\.1 replaces 0\.10\.0\. This start has migrated no database\.$`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		d, err := startDaemon(ctx, &cfg, zerolog.Nop(), appOptions{Version: c.version})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		select {
		case text := <-texts:
			if !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("told %q", text)
			}
		case <-time.After(patience):
			t.Errorf("nobody is told of %s", c.version)
		}
		eventually(t, "it is known that the message came", func() (bool, any) {
			states := d.notifier.States()
			return len(states) == 1 && states[0].Waiting == 0, states
		})
		cancel()
		if err := errors.Join(<-done, d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
