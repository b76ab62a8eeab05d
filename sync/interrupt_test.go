package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/bench/sync/rig"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// endState is everything of an archive that must not depend on how often the
// sync was interrupted.
func endState(t *testing.T, ar *archive.Archive) []string {
	t.Helper()
	var out []string
	for id := range int64(100) {
		raw, err := ar.MeetingJSON(t.Context(), id)
		if err != nil {
			continue
		}
		revisions, err := ar.Revisions(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		media, err := ar.MediaOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s, %d revisions", raw, len(revisions)))
		for _, m := range media {
			out = append(out, fmt.Sprintf("%d: %s %s %d", id, m.Kind, m.SHA256, m.Size))
		}
	}
	marks, err := ar.Marks(t.Context(), "sync/ask/")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := ar.DownloadCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	partial, err := os.ReadDir(filepath.Dir(ar.PartialPath("any")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	blobs := 0
	if err := ar.Media().Walk(t.Context(), func(media.Blob) error { blobs++; return nil }); err != nil {
		t.Fatal(err)
	}
	return append(out, fmt.Sprintf("%d tasks, downloads %v, %d partial files, %d files", len(marks), queue, len(partial), blobs))
}

// item is a place where a run is cut: before or after it.
type item int

const (
	aCall item = iota
	aPiece
	aCommit
	anInboxCommit
)

func (i item) String() string {
	return [...]string{"call", "piece of media", "commit", "commit of the inbox"}[i]
}

// knife cuts a run off at its nth item. When the service or the disk has done
// its part for the item, the run is cut after it, otherwise before.
type knife struct {
	item  item
	nth   int // from 1; 0: never
	after bool
	every bool // cut run after run, each an item later
}

// cutter is a knife at work on one run. As with a process that is killed,
// nothing reaches the service or the disk after the cut.
type cutter struct {
	knife
	stop func()
	wire *rig.Wire
	db   *sqlite.DB
	mu   sync.Mutex // guards the fields below
	at   int        // items of this run, of the knife's kind
	cut  bool
}

// arm sets the knife on a run, and counts its items.
func (k knife) arm(t *testing.T, w *rig.Wire, ar *archive.Archive, run int, stop func()) *cutter {
	if k.every {
		k.nth += run - 1
	} else if run > 1 {
		k.nth = 0
	}
	c := &cutter{knife: k, stop: stop, wire: w, db: ar.DB()}
	w.Fail = func(_ int, _ *http.Request, after bool) error { return c.pass(aCall, after) }
	w.FailPiece = func(int) error { return c.pass(aPiece, false) }
	onCommit(t, c.db, c.commits(aCommit))
	onCommit(t, ar.Inbox().DB(), c.commits(anInboxCommit))
	return c
}

// onCommit has SQLite ask a function before each commit of a database; anything
// but zero undoes it.
func onCommit(t *testing.T, db *sqlite.DB, hook func() int) {
	t.Helper()
	conn, err := db.W.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Raw(func(driver any) error {
		driver.(*sqlite3.SQLiteConn).RegisterCommitHook(hook)
		return nil
	})
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
}

// commits is asked before each commit of a kind. One that is the last takes
// place, and nothing after it.
func (c *cutter) commits(kind item) func() int {
	return func() int {
		if err := c.pass(kind, false); err != nil {
			return 1
		}
		_ = c.pass(kind, true)
		return 0
	}
}

// pass counts an item and cuts the run off when it is the one.
func (c *cutter) pass(kind item, after bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut && kind == c.item && after == c.after {
		c.at++
		if c.at == c.nth {
			c.cut = true
			c.stop()
			_ = c.db.W.Close() // does not wait for the connection that is in use
			return rig.ErrCut
		}
	}
	if c.cut && !after {
		return rig.ErrCut
	}
	return nil
}

// count returns how many items there were, and whether the run was cut.
func (c *cutter) count() (items int, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, c.cut
}

// wholeRun brings everything into an archive, until it is there or ctx ends.
type wholeRun func(ctx context.Context, t *testing.T, u *rig.Upstream, ar *archive.Archive) error

// command is a whole run by a command that waits for the recordings.
func command(ctx context.Context, t *testing.T, u *rig.Upstream, ar *archive.Archive) error {
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Sync(ctx, syncer.Request{Media: true}, nil)
}

// interrupted makes whole runs, each with an archive and a Syncer of its own and
// cut off by the knife, until one goes through. It returns the state at the end
// and how many items the last run had.
func interrupted(t *testing.T, u *rig.Upstream, k knife, uninterrupted wholeRun) (state []string, items int) {
	t.Helper()
	dir := t.TempDir()
	for run := 1; run < 200; run++ {
		ar, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
		if err != nil {
			t.Fatalf("with %+v, run %d: %v", k, run, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		c := k.arm(t, u.Wire, ar, run, stop)
		err = uninterrupted(ctx, t, u, ar)
		stop()
		items, cut := c.count()
		if err == nil && !cut {
			state = endState(t, ar)
		}
		if err := ar.Close(); err != nil {
			t.Fatal(err)
		}
		if state != nil {
			return state, items
		}
		if !cut {
			t.Fatalf("with %+v, run %d: %v", k, run, err)
		}
		time.Sleep(2 * time.Minute) // a restart finds an empty budget
	}
	t.Fatalf("with %+v the sync never ends", k)
	return nil, 0
}

// TestInterruptedAnywhereTheEndIsTheSame cuts a sync before and after its calls
// and commits and before pieces of media, and goes on; and cuts it again and
// again. With MINUTEBOOK_LONG it is cut at every single one of them, otherwise at
// some of each kind.
func TestInterruptedAnywhereTheEndIsTheSame(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, kind := range []knife{{item: aCall}, {item: aCall, after: true}, {item: aPiece}, {item: aCommit}, {item: aCommit, after: true}} {
		t.Run(fmt.Sprintf("%v, after %v", kind.item, kind.after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { cutEverywhere(t, kind, func(*rig.Upstream) wholeRun { return command }) })
		})
	}
}

// cutEverywhere compares the archive in the end with the archive of an uninterrupted
// run. prepare is called once, for whatever is outside of the runs.
func cutEverywhere(t *testing.T, k knife, prepare func(*rig.Upstream) wholeRun) {
	const meetings = 12 // two pages
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Video: rig.File(70_000)}, rig.Meetings(meetings, now.Add(-time.Hour), 50*time.Hour))
	uninterrupted := prepare(u)
	want, items := interrupted(t, u, k, uninterrupted)
	if n := strings.Count(strings.Join(want, "\n"), ": video "); n != meetings {
		t.Fatalf("uninterrupted: %d recordings of %d: %q", n, meetings, want)
	}
	step, again := items/8+1, []int{1}
	if testrun.IsLong() {
		step, again = 1, []int{1, 2, 3, 5, 8}
	}
	t.Logf("an uninterrupted run has %d; cut at every %d.", items, step)
	each := 0 // the first commits are those of the lists: a cut before each of them
	if k.item == aCommit && !k.after {
		each = 12
	}
	for k.nth = 1; k.nth <= items; k.nth++ {
		if k.nth > each && (k.nth-1)%step != 0 {
			continue
		}
		if got, _ := interrupted(t, u, k, uninterrupted); !slices.Equal(got, want) {
			t.Fatalf("with %+v: %s", k, cmp.Diff(want, got))
		}
	}
	k.every = true
	for _, k.nth = range again {
		if got, _ := interrupted(t, u, k, uninterrupted); !slices.Equal(got, want) {
			t.Fatalf("with %+v: %s", k, cmp.Diff(want, got))
		}
	}
}
