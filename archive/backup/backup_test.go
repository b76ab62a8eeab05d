package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

func backUp(t *testing.T, a *archive.Archive, dest string, o Options) Result {
	t.Helper()
	r, err := Run(t.Context(), a, dest, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// contents returns all that an archive shows: meetings, parts, recordings.
func contents(t *testing.T, a *archive.Archive) string {
	t.Helper()
	var b strings.Builder
	rows, err := a.List(t.Context(), archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Limit: 1000})
	must(t, err)
	for _, r := range rows {
		raw, err := a.MeetingJSON(t.Context(), r.RecordingID)
		must(t, err)
		media, err := a.MediaOf(t.Context(), r.RecordingID)
		must(t, err)
		fmt.Fprintf(&b, "%s\n%+v\n", raw, media)
		for _, m := range media {
			f, _, err := a.Media().Open(t.Context(), m.SHA256)
			must(t, err)
			defer f.Close()
			_, err = io.Copy(&b, f)
			must(t, err)
		}
	}
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mainDB(a *archive.Archive) string { return filepath.Join(a.Dir(), "archive.db") }

func blobPath(a *archive.Archive, sha string) string {
	return filepath.Join(a.Dir(), "media", sha[:2], sha)
}

func restored(t *testing.T, o RestoreOptions) *archive.Archive {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "back")
	}
	m, err := Restore(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a := archivetest.Open(t, o.Dir)
	if counts, err := a.Counts(t.Context()); err != nil || counts.Meetings != m.Meetings {
		t.Errorf("%d meetings are restored, and there are %d, %v", m.Meetings, counts.Meetings, err)
	}
	return a
}

// TestAPositionGoesOnAfterARestore has followers who stood at positions of the epoch that a backup
// was made in, before and after the backup, and at one that nobody knows.
func TestAPositionGoesOnAfterARestore(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	left, err := a.Head(t.Context())
	must(t, err)
	backUp(t, a, dest, Options{})
	for range 2 { // the second restore is of a backup of the first one's archive
		a = restored(t, RestoreOptions{From: dest})
		dest = t.TempDir()
		backUp(t, a, dest, Options{})
	}
	head, err := a.Head(t.Context())
	must(t, err)
	for _, c := range []struct{ at, want archive.Position }{
		{archive.Position{}, archive.Position{}},
		{head, head},
		{archive.Position{Epoch: left.Epoch, Seq: 1}, archive.Position{Epoch: head.Epoch, Seq: 1}},
		{archive.Position{Epoch: left.Epoch, Seq: left.Seq + 5}, archive.Position{Epoch: head.Epoch, Seq: left.Seq}},
		{archive.Position{Epoch: "unknown", Seq: 1}, head},
	} {
		if got, err := a.TranslatePosition(t.Context(), c.at); err != nil || got != c.want {
			t.Errorf("%+v became %+v, want %+v, %v", c.at, got, c.want, err)
		}
	}
}

func TestRestoredArchiveIsTheSameInANewEpoch(t *testing.T) {
	testrun.SkipUnderRace(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	a := archivetest.Sample(t)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"), archivetest.Meeting(2, "second", "b"))
	archivetest.Attach(t, a, 1, "moving pictures")
	archivetest.Attach(t, a, 2, "more of them")
	if _, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "msg_1", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := a.SaveBudget(t.Context(), "main", []byte(`{"v":1}`)); err != nil {
		t.Fatal(err)
	}
	rules := []archive.RetentionRule{{MediaAfter: 100 * 365 * 24 * time.Hour}}
	if err := a.AcceptRetention(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"plain": {}, "sealed": {Recipients: []age.Recipient{id.Recipient()}}} {
		dest := filepath.Join(t.TempDir(), "usb")
		r := backUp(t, a, dest, o)
		if r.Copied != 4 || r.Kept != 0 || r.Manifest.Meetings != len(sample.All())+2 {
			t.Errorf("%s: %+v", name, r)
		}
		if name == "sealed" {
			for file, content := range archivetest.Tree(t, dest) {
				if strings.Contains(content, "moving pictures") || strings.Contains(content, "SQLite format") {
					t.Errorf("%s can be read", file)
				}
			}
			if _, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no identity") {
				t.Errorf("restored without the key: %v", err)
			}
		}
		back := restored(t, RestoreOptions{From: dest, Identities: []age.Identity{id}})
		if contents(t, back) != contents(t, a) {
			t.Errorf("%s: the restored archive differs", name)
		}
		was, _ := a.Head(t.Context())
		if now, _ := back.Head(t.Context()); now.Epoch == was.Epoch || now.Seq != was.Seq {
			t.Errorf("%s: head %+v after %+v", name, now, was)
		}
		if _, err := back.Changes(t.Context(), was, 1); !errors.Is(err, archive.ErrForeignEpoch) {
			t.Errorf("%s: a follower of the old epoch gets %v", name, err)
		}
		if p, err := back.Inbox().Pending(t.Context(), 10); err != nil || len(p) != 1 {
			t.Errorf("%s: %d deliveries pending, %v", name, len(p), err)
		}
		for _, connection := range []string{"main", "newer than the copy"} {
			if budget, err := back.LoadBudget(t.Context(), connection); err != nil || string(budget) != api.SpentBudget {
				t.Errorf("%s: the rate budget of %s begins as %s, %v; the calls of the last minute are not known", name, connection, budget, err)
			}
		}
		if hold, err := back.LookAtRetention(t.Context(), rules); err != nil || !hold.Waiting {
			t.Errorf("%s: rules delete by what the service showed before the copy was made: %+v, %v", name, hold, err)
		}
		left, _ := filepath.Glob(filepath.Join(a.Dir(), ".tmp-*"))
		if len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestBackupIsIncrementalAndClearsAway(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"), archivetest.Meeting(2, "second", "b"))
	archivetest.Attach(t, a, 1, "one")
	backUp(t, a, dest, Options{Keep: 1})
	archivetest.Attach(t, a, 2, "two")
	os.MkdirAll(filepath.Join(dest, generation.Prefix+"000077"), 0o700) // interrupted
	os.WriteFile(filepath.Join(dest, "keep me.txt"), nil, 0o600)
	if r := backUp(t, a, dest, Options{Keep: 1}); r.Kept != 1 || r.Copied != 3 || len(r.Pruned) != 1 {
		t.Errorf("second: %+v", r)
	}
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	if r := backUp(t, a, dest, Options{Keep: 1}); r.Kept != 1 || r.Manifest.Meetings != 1 || len(r.Doubts) > 0 {
		t.Errorf("third: %+v", r)
	}
	dirs, _ := filepath.Glob(filepath.Join(dest, generation.Prefix+"*"))
	media, _ := filepath.Glob(filepath.Join(dest, "media", "*", "*"))
	if len(dirs) != 1 || len(media) != 1 || !archivetest.Exists(filepath.Join(dest, "keep me.txt")) {
		t.Errorf("left %v %v", dirs, media)
	}
	if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
		t.Error("the restored archive differs")
	}
	if _, err := Run(t.Context(), a, filepath.Join(a.Dir(), "backup"), Options{}); err == nil {
		t.Error("backed up into the data directory")
	}
}

func TestBackupWhileWritingHoldsAMomentOfTheArchive(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for id := int64(1); ctx.Err() == nil; id++ {
			// Two meetings at a time: a moment has both or neither.
			var batch []archive.Observation
			for _, n := range []int64{2 * id, 2*id + 1} {
				o, _ := archive.FromMeeting("main", archive.SourceList, archivetest.Epoch, archivetest.Meeting(n, "t", "said"))
				batch = append(batch, o)
			}
			a.Apply(ctx, batch)
		}
	}()
	for range 5 {
		r := backUp(t, a, dest, Options{})
		if r.Manifest.Meetings%2 != 0 {
			t.Errorf("half a transaction: %d meetings", r.Manifest.Meetings)
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	wg.Wait()
	back := restored(t, RestoreOptions{From: dest})
	if c, err := back.Counts(t.Context()); err != nil || c.Meetings%2 != 0 || c.Meetings != c.WithTranscript {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestBackupOfABucket has an archive whose recordings are in a bucket go through a
// backup and back.
func TestBackupOfABucket(t *testing.T) {
	server := s3test.Start(t)
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: server.URL("recordings", "p"), Logger: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { a.Close() })
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	dest := t.TempDir()
	backUp(t, a, dest, Options{})
	if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
		t.Error("the restored archive differs")
	}
}

// TestALostDatabaseIsNotBackedUp removes the inbox under a running archive.
func TestALostDatabaseIsNotBackedUp(t *testing.T) {
	t.Parallel()
	a := archivetest.WithMeetings(t, 1)
	must(t, os.Remove(a.Inbox().Path()))
	if _, err := Run(t.Context(), a, t.TempDir(), Options{}); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("backup: %v", err)
	}
}

func verify(t *testing.T, a *archive.Archive, o archive.VerifyOptions) (archive.Verified, []archive.Damage) {
	t.Helper()
	var damages []archive.Damage
	v, err := a.Verify(t.Context(), o, func(d archive.Damage) {
		if d.Class != archive.DamageMode || d.Path != a.Dir() { // a test's own directory is 0755
			damages = append(damages, d)
		}
	})
	must(t, err)
	return v, damages
}
