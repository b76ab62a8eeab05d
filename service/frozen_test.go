package service

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/internal/sqlite/frozen"
	"minutebook/internal/testrun"
)

// TestEveryFrozenServiceIsUpgraded opens service.db as earlier versions left it: the schema is
// then that of a new one, and all rows are there.
func TestEveryFrozenServiceIsUpgraded(t *testing.T) {
	testrun.SkipUnderRace(t)
	fresh := openOffline(t, ArchiveDir(t))
	frozen.Each(t, func(t *testing.T, file, dir string) {
		frozen.Compare(t, file, openOffline(t, dir).store.db, fresh.store.db)
	})
}

// openOffline opens the service of a data directory as a command does, beside none that runs.
// A service.db that is alone there gets an archive.
func openOffline(t *testing.T, dir string) *Service {
	t.Helper()
	if !archivetest.Exists(filepath.Join(dir, "archive.db")) {
		alone := filepath.Join(dir, "service.db")
		dir = filepath.Join(dir, "data")
		if err := errors.Join(openTestArchive(t, dir).Close(), os.Rename(alone, filepath.Join(dir, "service.db"))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(t.Context(), Options{Archive: openTestArchive(t, dir), Offline: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAServiceOfTheFirstOwner: an administrator from before deliveries had owners is there.
func TestAServiceOfTheFirstOwner(t *testing.T) {
	s := openOffline(t, frozen.Directory(t, "service-2"))
	if key, created, err := s.EnsureAdminKey(t.Context()); created || err != nil {
		t.Errorf("the administrator was not there: made %t, key of %d bytes, %v", created, len(key), err)
	}
	if s.AdminEmail() != "admin@sandbox.example" {
		t.Errorf("the administrator is %q", s.AdminEmail())
	}
}

// TestAServiceOfTheFirstRelease: keys and tokens of 0.9.0 open the same meetings, the queue goes
// on where it was, and limits stay.
func TestAServiceOfTheFirstRelease(t *testing.T) {
	testrun.SkipUnderRace(t)
	at := &clock{now: time.Date(2026, 2, 27, 13, 0, 2, 0, time.UTC)}
	a := archivetest.OpenAt(t, frozen.Directory(t, "0.9.0"), at.Now)
	s := newSandboxAt(t, at, Options{Archive: a})
	const priyaKey, app, secret = "mbk_L-Riz2J3voC5x5axAdETurxBN4_a5_lmM0jjGHlN3Pw", "app_KVsiu67IbD0P33hSbBnK4SaGcJL", "mbs_8PiCZoz5k-QnVsjFHRB88ei_5OGQqD12WPWLSkOghms"
	for key, want := range map[string][]int64{
		priyaKey: {551186153, 400144927, 601327096}, "mba_qFtGhLd1PSMA8rpXT9RixYn1R_R1wKROTEhoaJ8AySk": {551186153, 400144927, 601327096},
		"mbk_RAgzN-rCvgDoojUq6XSeQQJ_wEAKYpsviNlKw6h7iHc": {551186153, 469234221, 772592125, 400144927, 601327096},
	} {
		if got := s.walk("", key); !slices.Equal(got, want) {
			t.Errorf("%.8s… lists %v, want %v", key, got, want)
		}
	}
	s.get("/meetings", "mbk_dIR0U24q9XeKzKdhrQ4RS6QHY2EfeTX-2F3YCk5lab4", 401)
	if a, tok := s.form("grant_type", "refresh_token", "refresh_token", "mbr_g4ex0CxR4A8o_i4kU-FcB0rZlb8f42M1UHQtn3jhRMI", "client_id", app, "client_secret", secret); a.status != 200 || tok.Access == "" {
		t.Errorf("the connection is not renewed: %d %s", a.status, a.body)
	}
	if got := s.Limits(); got.Global != 120 || got.Heavy != 45 || got.DownloadLimit != 20 {
		t.Errorf("limits %+v", got)
	}
	s.get("/recordings/400144927/downloads/dl_SDV05ye2J6RwwL5wQMXjPLNFTK0", "mbk_RAgzN-rCvgDoojUq6XSeQQJ_wEAKYpsviNlKw6h7iHc", 200)

	hooks, err := s.Hooks(t.Context())
	if err != nil || len(hooks) != 3 {
		t.Fatalf("webhooks %+v, %v", hooks, err)
	}
	deliveries, err := s.Deliveries(t.Context(), "", 10)
	var states []string
	for _, d := range deliveries {
		states = append(states, d.State)
	}
	if err != nil || !slices.Equal(states, []string{"failed", "pending", "done"}) {
		t.Errorf("deliveries %v, %v", states, err)
	}
	// The one that waits is sent to its address, with the content of that time.
	in := newInbox(t, func(int) int { return 200 })
	if _, err := s.store.db.W.ExecContext(t.Context(), `UPDATE deliveries SET url = ? WHERE state = 'pending'`, in.URL); err != nil {
		t.Fatal(err)
	}
	at.add(time.Hour)
	s.run()
	if d := in.next(t); d.header.Get("webhook-id") != deliveries[1].MessageID {
		t.Errorf("sent is %v, want %s", d.header, deliveries[1].MessageID)
	}
}
