package backup

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/s3test"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestBackupsInABucket makes generations in a bucket, plain and encrypted, and restores,
// proves, repairs from and forgets in them.
func TestBackupsInABucket(t *testing.T) {
	testrun.SkipUnderRace(t)
	key, err := age.GenerateX25519Identity()
	must(t, err)
	server := s3test.Start(t)
	sealed := Options{Keep: 2, Recipients: []age.Recipient{key.Recipient()}}
	for _, c := range []struct {
		name string
		Options
	}{{"plain", Options{Keep: 2}}, {"sealed", sealed}, {"versions", sealed}} { // the last one for good
		name, o := c.name, c.Options
		t.Run(name, func(t *testing.T) {
			if name == "versions" {
				server.KeepVersions(t)
			}
			a, dest := archivetest.New(t), server.URL("recordings", "minutes/"+name)
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"), archivetest.Meeting(2, "second", "b"))
			archivetest.Attach(t, a, 1, "moving pictures")
			for i := range 3 {
				r := backUp(t, a, dest, o)
				if i > 0 && r.Kept != 1 || len(r.Pruned) != i/2 || len(r.Doubts) > 0 {
					t.Errorf("run %d: %+v", i, r)
				}
			}
			all, err := generation.List(t.Context(), dest)
			if err != nil || len(all) != 2 || all[1].Name != "generation-000003" {
				t.Fatalf("%+v, %v", all, err)
			}
			for _, object := range server.Objects(t, "minutes/"+name) {
				if strings.Contains(object, "generation-000001") {
					t.Errorf("%s was not removed", object)
				}
			}
			if left := leftBehind(t, a.Dir()); len(left) > 0 {
				t.Errorf("left in the data directory: %q", left)
			}
			back := restored(t, RestoreOptions{From: dest, Generation: "2", Identities: []age.Identity{key}})
			if contents(t, back) != contents(t, a) {
				t.Error("what came back is different")
			}
			db := sqlite.Connect(mainDB(back), "?mode=ro", nil)
			defer db.Close()
			if noted, err := sqlite.Column[string](t.Context(), db, `SELECT destination FROM backups ORDER BY 1`); err != nil || !slices.Contains(noted, all[1].Path()) {
				t.Errorf("after the restore forget looks into %q, %v", noted, err)
			}
			p, err := Prove(t.Context(), ProofOptions{From: dest, Scratch: filepath.Join(t.TempDir(), "proof"), OldData: a.Dir(), Identities: []age.Identity{key}, Now: a.Now})
			if err != nil || !p.Restored || p.Meetings != 2 {
				t.Errorf("proof: %+v, %v", p, err)
			}
			repairFromBucket(t, a, dest, key)
			forgetInBucket(t, a, dest, o)
		})
	}
}

func leftBehind(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	must(t, err)
	return left
}

// repairFromBucket loses a recording and takes it from the bucket.
func repairFromBucket(t *testing.T, a *archive.Archive, dest string, key age.Identity) {
	t.Helper()
	all, err := a.MediaOf(t.Context(), 1)
	must(t, err)
	must(t, os.Remove(blobPath(a, all[0].SHA256)))
	source, err := a.OpenBackupSource(t.Context(), dest, key)
	must(t, err)
	defer source.Close()
	v, err := a.Verify(t.Context(), archive.VerifyOptions{Repair: true, From: source}, func(archive.Damage) {})
	if err != nil || v.Lost > 0 || v.Repaired != 1 {
		t.Errorf("repair: %+v, %v", v, err)
	}
}

// forgetInBucket forgets a meeting: both generations are named, and after their removal
// nothing of it is in the bucket.
func forgetInBucket(t *testing.T, a *archive.Archive, dest string, o Options) {
	t.Helper()
	f, err := a.Forget(t.Context(), 1, "test")
	must(t, err)
	if len(f.Backups) != 2 || generation.DirOf(f.Backups[0]) != dest || !strings.Contains(f.Backups[0], "/generation-000002?") {
		t.Errorf("forget names %q", f.Backups)
	}
	place, err := generation.OpenPlace(dest)
	must(t, err)
	if kept := strings.Contains(dest, "versions"); generation.KeepsVersions(t.Context(), place) != kept {
		t.Errorf("the bucket keeps versions; want %t", kept)
	}
	if list, err := generation.ReadForgotten(t.Context(), place); err != nil || len(list) != 1 || list[0].RecordingID != 1 {
		t.Errorf("the bucket knows of %+v, %v", list, err)
	}
	o.Keep = 0
	backUp(t, a, dest, o)
	must(t, Remove(t.Context(), a, dest, f.Backups, 1))
	if again, err := a.Forget(t.Context(), 1, "test"); err != nil || len(again.Backups) > 0 {
		t.Errorf("still in %q, %v", again.Backups, err)
	}
	if recordings, err := place.Files(t.Context(), "media"); err != nil || len(recordings) > 0 {
		t.Errorf("recordings %v, %v", recordings, err)
	}
}

// TestInterruptedUploadsAreNoGeneration lets the server fail from its n-th call that
// changes the bucket on, for every n, and lets it return: no generation appears before
// all of it is there, and the next run removes the remains.
func TestInterruptedUploadsAreNoGeneration(t *testing.T) {
	testrun.SkipUnderRace(t)
	var left atomic.Int64
	var refused atomic.Bool
	healthy := s3test.Start(t)
	server := healthy.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead && left.Add(-1) < 0 {
				refused.Store(true)
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, dest := archivetest.New(t), server.URL("recordings", "minutes")
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	whole := 0
	for n := int64(0); ; n++ {
		left.Store(n)
		refused.Store(false)
		r, err := Run(t.Context(), a, dest, Options{})
		all, listed := generation.List(t.Context(), dest)
		if err == nil && len(all) != whole+1 || len(all) > whole+1 || listed != nil && !errors.Is(listed, generation.ErrNone) {
			t.Fatalf("after %d calls: %v; %d generations are listed, %d were whole, %v", n, err, len(all), whole, listed)
		}
		for _, g := range all[whole:] { // its cleaning up may have failed
			must(t, g.Check(t.Context()))
		}
		whole = len(all)
		if err == nil && !refused.Load() && r.Copied > 0 {
			break
		}
		if err != nil && (!media.IsUnavailable(err) || strings.Count(err.Error(), "bucket recordings") != 1) {
			t.Errorf("after %d calls: %v", n, err)
		}
	}
	healthy.LeavePart(t, "minutes/generation-000099/archive.db.zst", make([]byte, 5<<20))
	backUp(t, a, healthy.URL("recordings", "minutes"), Options{Keep: 1})
	if uploads := healthy.Uploads(t); len(uploads) > 0 {
		t.Errorf("unfinished uploads of %q", uploads)
	}
	all, err := generation.List(t.Context(), dest)
	must(t, err)
	named := []string{"minutes/" + all[0].ManifestFile()}
	for _, f := range all[0].Files {
		named = append(named, "minutes/"+f.Path)
	}
	slices.Sort(named)
	if objects := healthy.Objects(t, "minutes"); !slices.Equal(objects, named) {
		t.Errorf("in the bucket are %q, want %q", objects, named)
	}
}

// TestLiveRecordingsAreNoBackups gives the folder media of a directory of backups to an
// archive as its own store. Clearing it away would delete its recordings.
func TestLiveRecordingsAreNoBackups(t *testing.T) {
	usb := t.TempDir()
	server := s3test.Start(t)
	for name, c := range map[string]struct{ dest, mediaURL string }{
		"directory": {usb, "file://" + usb + "/media"},
		"bucket":    {server.URL("recordings", "p"), server.URL("recordings", "p/media")},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), MediaURL: c.mediaURL})
			must(t, err)
			t.Cleanup(func() { a.Close() })
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
			if _, err := a.Media().Put(t.Context(), strings.NewReader("a recording that is attached in a moment")); err != nil {
				t.Fatal(err)
			}
			if _, err := Run(t.Context(), a, c.dest, Options{}); err == nil || !strings.Contains(err.Error(), "directory of its own") {
				t.Errorf("backed up beside live recordings: %v", err)
			}
			recordings := 0
			must(t, a.Media().Walk(t.Context(), func(media.Blob) error { recordings++; return nil }))
			if recordings != 1 {
				t.Errorf("%d recordings are left of 1", recordings)
			}
		})
	}
}

// TestAFailedPruningKeepsTheListOfForgottenMeetings forgets a meeting while the bucket is away.
// Then the bucket refuses to delete the older generation.
func TestAFailedPruningKeepsTheListOfForgottenMeetings(t *testing.T) {
	var away, keeps atomic.Bool
	healthy := s3test.Start(t)
	server := healthy.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() || keeps.Load() && r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "generation-000001") {
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, dest := archivetest.WithMeetings(t, 2), server.URL("recordings", "minutes")
	backUp(t, a, dest, Options{Keep: 1})
	away.Store(true)
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	away.Store(false)
	keeps.Store(true)
	if _, err := Run(t.Context(), a, dest, Options{Keep: 1}); !media.IsUnavailable(err) {
		t.Errorf("backed up: %v", err)
	}
	place, err := generation.OpenPlace(dest)
	must(t, err)
	if list, err := generation.ReadForgotten(t.Context(), place); err != nil || len(list) != 1 {
		t.Errorf("the bucket knows of %+v, %v", list, err)
	}
}

// TestARecordingThatAProxyKeepsIsForgottenLater forgets a meeting while a proxy answers the
// removal of its recording with 404, as one does that starts.
func TestARecordingThatAProxyKeepsIsForgottenLater(t *testing.T) {
	var starting atomic.Bool
	server := s3test.Start(t)
	proxy := server.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && starting.Load() {
				http.NotFound(w, r)
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: proxy.URL("recordings", "p"), Logger: zerolog.Nop()})
	must(t, err)
	defer a.Close()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	b := archivetest.Attach(t, a, 1, "moving pictures")
	starting.Store(true)
	f, err := a.Forget(t.Context(), 1, "asked for")
	starting.Store(false)
	n, _, _ := a.Forgetting(t.Context())
	must(t, a.FinishForgetting(t.Context()))
	if _, there := a.Media().Stat(t.Context(), b.SHA256); there == nil {
		t.Errorf("forget: %+v, %v, unfinished %d, and the recording is still in the bucket", f, err, n)
	}
}

// TestARestoreWhileAPageAnswersUploadsFails restores recordings into a bucket while a sign-in
// page answers its uploads with 200.
func TestARestoreWhileAPageAnswersUploadsFails(t *testing.T) {
	var page atomic.Bool
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if page.Load() && r.Method == http.MethodPut && !strings.Contains(r.URL.Path, "archive-id") {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "<html>\n<body>Sign in<br></body></html>")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	b := archivetest.Attach(t, a, 1, "moving pictures")
	backUp(t, a, dest, Options{})
	page.Store(true)
	dir, url := filepath.Join(t.TempDir(), "back"), server.URL("recordings", "p")
	_, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: dir, MediaURL: url})
	page.Store(false)
	if err == nil {
		t.Errorf("the restore ended well; the bucket has %q, without %s", server.Objects(t, ""), b.SHA256)
	}
}

// TestAManifestThatAPageTookPrunesNothing has a sign-in page answer the upload of a manifest with
// 200. The older generation stays.
func TestAManifestThatAPageTookPrunesNothing(t *testing.T) {
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "generation-000002/manifest.json") {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "<html>\n<body>Sign in<br></body></html>")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	dest := server.URL("recordings", "backups")
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	backUp(t, a, dest, Options{Keep: 1})
	if r, err := Run(t.Context(), a, dest, Options{Keep: 1}); !media.IsUnavailable(err) {
		t.Errorf("the backup: %+v, %v", r, err)
	}
	if all, err := generation.List(t.Context(), dest); err != nil || len(all) != 1 || all[0].Name != "generation-000001" {
		t.Errorf("left are %+v, %v", all, err)
	}
}
