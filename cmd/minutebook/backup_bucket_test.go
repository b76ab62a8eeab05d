//go:build linux

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"minutebook/control"
	"minutebook/internal/notify"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// TestTheDaemonBacksUpIntoABucket runs the built program with encrypted backups into a
// real S3 server: they are proven from there, an absent server is told once and once when
// it is back, no secret is said anywhere, and a new machine restores from the bucket.
func TestTheDaemonBacksUpIntoABucket(t *testing.T) {
	testrun.SkipUnderRace(t)
	var away atomic.Bool
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() {
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	k := newKept(t)
	k.backups = server.URL("recordings", "minutes")
	var err error
	if k.identity, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(k.dir, "age.key")
	if err := os.WriteFile(key, []byte(k.identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.write(false, "@every 1s")
	k.start()
	eventually(t, "a backup is made and proven", func() (bool, any) {
		s := status(t, k.data)
		made, proven := s.Upkeep[control.UpkeepBackup], s.Upkeep[control.UpkeepProve]
		return s.Accounts[0].Backfilled && strings.Contains(made.Result, k.backups) && strings.Contains(proven.Result, "restored and verified"), s.Upkeep
	})
	away.Store(true)
	k.expect(1, 0, 1, notify.Problem, "upkeep/backup", "the backup failed")
	u := status(t, k.data).Upkeep[control.UpkeepBackup]
	if !strings.Contains(u.Error, "bucket recordings at 127.0.0.1") || !strings.Contains(u.Error, "give the user of the credentials the right") {
		t.Errorf("status says %q", u.Error)
	}
	for place, says := range map[string][2]string{
		"doctor":  {examined(k.config), "bucket recordings at 127.0.0.1"},
		"metrics": {get(t, k.serve.url+"/metrics"), `minutebook_upkeep_failed{task="backup"} 1`},
	} {
		if text, want := says[0], says[1]; !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", place, want, text)
		}
	}
	away.Store(false)
	run(t, "reload", "-c", k.config)
	k.expect(1, 0, 1, notify.Over, "upkeep/backup", "the backup failed")
	k.saysNoSecret()
	k.serve.stop()

	tables := server.URL("recordings", "tables")
	for _, want := range []string{" 0 unchanged", ": 0 files written"} {
		if out := run(t, "export", "-c", k.config, "--to", tables, "--format", "parquet"); !strings.Contains(out, want) {
			t.Errorf("the tables in the bucket: %q; want %q", out, want)
		}
	}
	run(t, "backup", "-c", k.config, k.backups)
	want := status(t, k.data).Meetings
	if list := run(t, "restore", "--list", k.backups); strings.Count(list, "generation-") < 2 {
		t.Errorf("generations: %s", list)
	}
	back := filepath.Join(t.TempDir(), "back")
	run(t, "restore", "--data", back, "--identity", key, k.backups)
	if s := status(t, back); s.Meetings != want {
		t.Errorf("%d meetings came back of %d", s.Meetings, want)
	}
	if out := run(t, "adopt", "--data", back); !strings.Contains(out, "meetings adopted") {
		t.Errorf("adopt says %q", out)
	}
	run(t, "verify", "--data", back, "--repair", "--from", k.backups, "--identity", key)
}
