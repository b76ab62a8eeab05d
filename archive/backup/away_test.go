package backup

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/media"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// withStore makes an archive of one meeting whose recording is in a store, and a
// backup of it.
func withStore(t *testing.T, mediaURL string) (a *archive.Archive, dest string) {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: mediaURL, Logger: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { a.Close() })
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	dest = t.TempDir()
	backUp(t, a, dest, Options{})
	return a, dest
}

// hasRecording fails the test when the meeting has lost its recording.
func hasRecording(t *testing.T, a *archive.Archive) {
	t.Helper()
	if stored, err := a.MediaOf(t.Context(), 1); err != nil || len(stored) != 1 {
		t.Errorf("the meeting's recordings are %v, %v", stored, err)
	}
	if _, damages := verify(t, a, archive.VerifyOptions{}); len(damages) > 0 {
		t.Errorf("after all: %v", damages)
	}
}

// TestRepairOfAnAwayBucketLosesNothing repairs and backs up while the bucket is gone,
// refuses, or breaks off in the middle of a recording, and looks when it is back. It also
// repairs from a backup there a recording that only the backup has, and ends the repair.
func TestRepairOfAnAwayBucketLosesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	var away atomic.Pointer[http.HandlerFunc]
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fault := away.Load(); fault != nil {
				(*fault)(w, r)
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, dest := withStore(t, server.URL("recordings", "p"))
	local, backups := archivetest.WithMeetings(t, 2), server.URL("recordings", "backups")
	archivetest.Attach(t, local, 1, "another one")
	removed := archivetest.Attach(t, local, 2, "moving pictures")
	backUp(t, local, backups, Options{})
	must(t, os.Remove(blobPath(local, removed.SHA256)))
	from, err := local.OpenBackupSource(t.Context(), backups)
	must(t, err)
	defer from.Close()
	repairFrom := func(t *testing.T, ctx context.Context) (outcome string) {
		t.Helper()
		_, err := local.Verify(ctx, archive.VerifyOptions{Repair: true, From: from}, func(d archive.Damage) {
			if d.Class != archive.DamageMode {
				outcome += d.String()
			}
		})
		m, failed := local.MediaOf(t.Context(), 2)
		if failed != nil || len(m) != 1 || (err != nil) != (ctx.Err() != nil) {
			t.Errorf("repair from the backup: %v; %s; the meeting has %d recordings, %v", err, outcome, len(m), failed)
		}
		return outcome
	}
	list := func(w http.ResponseWriter) { w.Write([]byte("<ListBucketResult></ListBucketResult>")) }
	for name, fault := range map[string]http.HandlerFunc{
		"gone":    func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, http.StatusNotFound, "NoSuchBucket") },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, http.StatusForbidden, "AccessDenied") },
		"breaks off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			switch {
			case strings.Contains(r.URL.RawQuery, "list-type"):
				list(w)
			case r.Method == http.MethodHead:
				w.Header().Set("Content-Length", "15")
			default:
				w.Header().Set("Content-Length", "15")
				w.Write([]byte("moving"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			away.Store(&fault)
			_, err := a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(d archive.Damage) {
				if d.Class != archive.DamageMode {
					t.Errorf("called a damage: %+v", d)
				}
			})
			if !media.IsUnavailable(err) {
				t.Errorf("verify: %v", err)
			}
			failed := t.TempDir()
			if _, err := Run(t.Context(), a, failed, Options{}); !media.IsUnavailable(err) {
				t.Errorf("backup: %v", err)
			}
			if left := archivetest.Tree(t, failed); len(left) > 1 { // the lock
				t.Errorf("the failed backup left %d files", len(left))
			}
			repairFrom(t, t.Context())
			away.Store(nil)
			hasRecording(t, a)
		})
	}
	ctx, end := context.WithCancel(t.Context())
	ending := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { end(); <-r.Context().Done() })
	away.Store(&ending)
	if outcome := repairFrom(t, ctx); outcome != "" {
		t.Errorf("ended: %s", outcome)
	}
	away.Store(nil)
	if outcome := repairFrom(t, t.Context()); !strings.Contains(outcome, "brought back from s3://") {
		t.Errorf("repaired: %s", outcome)
	}
	if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
		t.Error("the backup from before is not the archive")
	}
}

// TestRepairOfAnEmptyStoreLosesNothing repairs an archive whose recordings are on a
// file system that is not mounted, or in another bucket than before.
func TestRepairOfAnEmptyStoreLosesNothing(t *testing.T) {
	mount := filepath.Join(t.TempDir(), "nas")
	a, dest := withStore(t, "file://"+mount)
	must(t, os.Rename(mount, mount+"-away"))
	for _, made := range []string{mount, filepath.Join(mount, "partial")} { // the second one by a start
		must(t, os.Mkdir(made, 0o700))
		_, err := a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(archive.Damage) {})
		if !media.IsUnavailable(err) || !strings.Contains(err.Error(), "mount its file system") {
			t.Errorf("verify: %v", err)
		}
		if _, err := Run(t.Context(), a, t.TempDir(), Options{}); !media.IsUnavailable(err) {
			t.Errorf("backup: %v", err)
		}
	}
	must(t, os.RemoveAll(mount))
	must(t, os.Rename(mount+"-away", mount))
	hasRecording(t, a)
	if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
		t.Error("the backup from before is not the archive")
	}
	server := s3test.Start(t)
	a, _ = withStore(t, server.URL("recordings", "p"))
	objects := filepath.Join(server.Root(), "data", "recordings", "p")
	must(t, os.Rename(objects, objects+"-away"))
	_, verified := a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(archive.Damage) {})
	_, backedUp := Run(t.Context(), a, t.TempDir(), Options{})
	for what, err := range map[string]error{"verify": verified, "backup": backedUp} {
		if !media.IsUnavailable(err) || !strings.Contains(err.Error(), "correct media.url") {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, os.Rename(objects+"-away", objects))
	hasRecording(t, a)
}
