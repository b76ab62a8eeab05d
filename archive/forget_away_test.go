package archive_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/residue"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// TestForgetDoesNotWaitForTheBucket forgets a meeting while the bucket of the recordings is
// away. Its words go at once, its recording when the bucket is back.
func TestForgetDoesNotWaitForTheBucket(t *testing.T) {
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
	dir := archivetest.Dir(t)
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop(), MediaURL: server.URL("recordings", "p")})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const word = "Xylophonist"
	body := []byte(`{"recording_id":7,"title":"` + word + `","created_at":"2026-03-01T10:00:00Z","transcript":[{"speaker":{"display_name":"Ann"},"text":"` +
		strings.Repeat(word+" ", 2000) + `","timestamp":"00:00:01"}]}`)
	observed, err := archive.FromMeeting("ann", archive.SourceList, time.Now(), body)
	if err == nil {
		_, err = a.Apply(t.Context(), []archive.Observation{observed})
	}
	if err == nil {
		_, err = a.Inbox().Put(t.Context(), inbox.Delivery{Account: "ann", WebhookID: "msg", Kind: "webhook", ReceivedAt: time.Now(), RecordingID: 7, Body: body})
	}
	if err != nil {
		t.Fatal(err)
	}
	blob, err := a.Media().Put(t.Context(), strings.NewReader("a recording"))
	if err == nil {
		err = a.AttachMedia(t.Context(), 7, archive.MediaVideo, blob)
	}
	if err != nil {
		t.Fatal(err)
	}
	erased, locked := 0, 0
	a.OnForget("a locked room", func(context.Context, int64) error { // the first time
		if locked++; locked == 1 {
			return errors.New("it is locked")
		}
		return nil
	})
	a.OnForget("a room", func(context.Context, int64) error { erased++; return nil })
	away.Store(true)
	_, err = a.Forget(t.Context(), 7, "asked for")
	if err == nil || strings.Count(err.Error(), "give the user of the credentials the right") != 1 || !strings.Contains(err.Error(), "it is locked") {
		t.Errorf("with a bucket that is away: %v", err)
	}
	if found := residue.Find(t, word, dir); len(found) > 0 || erased == 0 {
		t.Errorf("while the bucket is away, the words are in %v, and a room was called %d times", found, erased)
	}
	for range 2 {
		if a.FinishForgetting(t.Context()) == nil {
			t.Error("finished without the bucket")
		}
	}
	if locked < 2 {
		t.Error("a room that failed is not asked again while the bucket is away")
	}
	away.Store(false)
	if err := a.FinishForgetting(t.Context()); err != nil {
		t.Error(err)
	}
	if unfinished, _, err := a.Forgetting(t.Context()); unfinished != 0 || err != nil || len(server.Objects(t, "p/")) > 0 {
		t.Errorf("%d unfinished, %v, in the bucket %v", unfinished, err, server.Objects(t, "p/"))
	}
}

// TestARecordingThatCannotBeDeletedKeepsNoOther has a bucket refuse to delete one recording,
// as it does with a lock on it. The rules delete all others, in this run and in later ones.
func TestARecordingThatCannotBeDeletedKeepsNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	var locked atomic.Value
	locked.Store("nothing")
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, locked.Load().(string)) {
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), MediaURL: server.URL("recordings", "p")})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rules := []archive.RetentionRule{{MediaAfter: time.Hour}}
	if err := a.AcceptRetention(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	record := func(id int64) {
		observed, err := archive.FromMeeting("ann", archive.SourceList, time.Now(), archivetest.Meeting(id, "T", "said"))
		if err == nil {
			_, err = a.Apply(t.Context(), []archive.Observation{observed})
		}
		blob, failed := a.Media().Put(t.Context(), strings.NewReader(fmt.Sprint("recording ", id)))
		if err = errors.Join(err, failed); err == nil {
			err = a.AttachMedia(t.Context(), id, archive.MediaVideo, blob)
		}
		if err != nil {
			t.Fatal(err)
		}
		if id == 1 {
			locked.Store(blob.SHA256)
		}
	}
	for id := range int64(3) {
		record(id + 1)
	}
	for deleted := range 2 {
		n := 0
		_, err := a.DeleteExpired(t.Context(), rules, func(archive.Expired) { n++ })
		if err == nil || !strings.Contains(err.Error(), "1 stay: delete blob "+locked.Load().(string)+": bucket recordings") || n != 3-2*deleted {
			t.Errorf("%d meetings: %v", n, err)
		}
		if left := server.Objects(t, "p/"); len(left) != 1 {
			t.Errorf("in the bucket are %v", left)
		}
		record(4)
	}
	locked.Store("nothing")
	if _, err := a.DeleteExpired(t.Context(), rules, func(archive.Expired) {}); err != nil || len(server.Objects(t, "p/")) > 0 {
		t.Errorf("%v, in the bucket are %v", err, server.Objects(t, "p/"))
	}
}

// TestRecordingsOnADiskThatIsAwayAreDeletedLater forgets a meeting, and has a rule delete the
// recording of another one, while the disk of the recordings is not mounted: before the start or
// since. Nothing is done, stored or called missing until it is back, also where an earlier
// version has left no archive-id.
func TestRecordingsOnADiskThatIsAwayAreDeletedLater(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	mountPoint := func(disk string) error { return os.MkdirAll(disk, 0o700) }
	for name, c := range map[string]struct {
		outside, linked, restart, earlier bool
		leave                             func(disk string) error // in the place of the disk
	}{
		"below the data directory": {restart: true, leave: mountPoint}, "since the start": {leave: mountPoint}, "of an earlier version": {restart: true, earlier: true, leave: mountPoint},
		"elsewhere": {outside: true, restart: true, leave: mountPoint}, "a folder on it": {outside: true, restart: true},
		"below a place where no folder can be made": {outside: true, restart: true, leave: func(disk string) error { return os.Symlink("nothing", disk) }},
		"linked": {linked: true, restart: true}, "linked, of an earlier version": {linked: true, restart: true, earlier: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, url := archivetest.Dir(t), ""
			disk := filepath.Join(dir, "media")
			if c.outside || c.linked {
				disk = filepath.Join(t.TempDir(), "nas")
			}
			if c.outside {
				url = "file://" + disk
			}
			if c.linked {
				must(t, os.Mkdir(disk, 0o700))
				must(t, os.Symlink(disk, filepath.Join(dir, "media")))
			}
			open := func() *archive.Archive {
				a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop(), MediaURL: url})
				must(t, err)
				t.Cleanup(func() { a.Close() })
				return a
			}
			a, rules := open(), []archive.RetentionRule{{MediaAfter: time.Hour, Teams: []string{"none"}}}
			must(t, a.AcceptRetention(t.Context(), rules))
			for id := range int64(3) {
				archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id+1, "T", "said"))
				archivetest.Attach(t, a, id+1, fmt.Sprint("recording ", id+1))
			}
			if c.earlier {
				must(t, os.Remove(filepath.Join(disk, media.OwnerName)))
			}
			if c.restart {
				must(t, a.Close())
			}
			must(t, os.Rename(disk, disk+"-away"))
			if c.leave != nil {
				must(t, c.leave(disk))
			}
			if c.restart {
				a = open()
			}
			_, err := a.Forget(t.Context(), 1, "asked for")
			away := map[string]error{"forget": err, "finish": a.FinishForgetting(t.Context()), "check": media.Check(t.Context(), a.Media())}
			rules[0].Teams = nil
			must(t, a.AcceptRetention(t.Context(), rules))
			expired, err := a.Expired(t.Context(), rules)
			must(t, err)
			_, away["retention"] = a.DeleteExpired(t.Context(), rules, func(archive.Expired) {})
			_, away["store"] = a.Media().Put(t.Context(), strings.NewReader("another recording"))
			_, away["verify"] = a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(d archive.Damage) {
				if d.Class == archive.DamageFileMissing {
					t.Errorf("called missing: %+v", d)
				}
			})
			for what, err := range away {
				if !media.IsUnavailable(err) || !strings.Contains(err.Error(), "mount its file system") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if unfinished, _, err := a.Forgetting(t.Context()); err != nil || unfinished != 1 || len(expired) != 2 {
				t.Errorf("%d are being forgotten, %v; %d expire", unfinished, err, len(expired))
			}
			must(t, a.Close())
			if made, _ := filepath.Glob(filepath.Join(disk, "*")); len(made) > 0 || c.leave == nil && archivetest.Exists(disk) {
				t.Errorf("in the place of the disk is made %v", made)
			}
			must(t, os.RemoveAll(disk))
			must(t, os.Rename(disk+"-away", disk))
			a = open()
			must(t, a.FinishForgetting(t.Context()))
			_, err = a.DeleteExpired(t.Context(), rules, func(archive.Expired) {})
			must(t, err)
			must(t, a.Media().Walk(t.Context(), func(b media.Blob) error { t.Errorf("%s is left", b.SHA256); return nil }))
			if v, err := a.Verify(t.Context(), archive.VerifyOptions{}, func(archive.Damage) {}); err != nil || v.ExitCode() != 0 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestAWrongBucketEndsNoForgetting has the address of the recordings lead to an empty prefix when a
// meeting is forgotten and a rule deletes a recording.
func TestAWrongBucketEndsNoForgetting(t *testing.T) {
	server, dir := s3test.Start(t), archivetest.Dir(t)
	open := func(prefix string) *archive.Archive {
		a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, MediaURL: server.URL("recordings", prefix), Logger: zerolog.Nop()})
		must(t, err)
		t.Cleanup(func() { a.Close() })
		return a
	}
	a, rules := open("right"), []archive.RetentionRule{{MediaAfter: time.Hour}}
	must(t, a.AcceptRetention(t.Context(), rules))
	for id := range int64(2) {
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id+1, "T", "said"))
		archivetest.Attach(t, a, id+1, fmt.Sprint("recording ", id+1))
	}
	must(t, a.Close())
	a = open("wrong")
	_, forgotten := a.Forget(t.Context(), 1, "asked for")
	_, expired := a.DeleteExpired(t.Context(), rules, func(archive.Expired) {})
	_, verified := a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(d archive.Damage) {
		if d.Class == archive.DamageFileMissing {
			t.Errorf("called missing: %+v", d)
		}
	})
	for what, err := range map[string]error{"forget": forgotten, "retention": expired, "verify": verified} {
		if !media.IsUnavailable(err) || !strings.Contains(err.Error(), "correct media.url") {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, a.Close())
	a = open("right")
	must(t, a.FinishForgetting(t.Context()))
	_, err := a.DeleteExpired(t.Context(), rules, func(archive.Expired) {})
	must(t, err)
	if left := server.Objects(t, ""); len(left) > 0 {
		t.Errorf("in the bucket are %v", left)
	}
}

// TestADiskWithoutRecordingsIsMissedToo: a recording would be stored below the mount point.
func TestADiskWithoutRecordingsIsMissedToo(t *testing.T) {
	dir := t.TempDir()
	must(t, archivetest.Open(t, dir).Close())
	disk := filepath.Join(dir, "media")
	must(t, os.Rename(disk, disk+"-away"))
	a := archivetest.Open(t, dir)
	if _, err := a.Media().Put(t.Context(), strings.NewReader("a recording")); !media.IsUnavailable(err) {
		t.Errorf("stored: %v", err)
	}
	must(t, a.Close())
	must(t, os.RemoveAll(disk))
	must(t, os.Rename(disk+"-away", disk))
	must(t, os.Rename(dir, dir+"-moved")) // as a whole
	if _, err := archivetest.Open(t, dir+"-moved").Media().Put(t.Context(), strings.NewReader("a recording")); err != nil {
		t.Errorf("not stored: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
