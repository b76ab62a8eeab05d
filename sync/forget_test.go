package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
	"minutebook/service"
)

// forgetter forgets meeting 2 at the nth item of a run, beside the run.
type forgetter struct {
	item  item
	nth   int // from 1; 0: never
	after bool

	ar   *archive.Archive
	mu   sync.Mutex // guards the fields below
	at   int
	done chan struct{} // nil: not begun; closed when forgotten
	err  error
}

const forgotten = 2

// arm sets the forgetter on a run.
func (f *forgetter) arm(t *testing.T, w *rig.Wire) {
	w.Fail = func(_ int, r *http.Request, after bool) error {
		if done := f.pass(aCall, after); done != nil {
			select {
			case <-done:
			case <-r.Context().Done():
			}
		}
		return nil
	}
	w.FailPiece = func(int) error { f.pass(aPiece, false); return nil }
	onCommit(t, f.ar.DB(), func() int { f.pass(aCommit, false); return 0 })
	onCommit(t, f.ar.Inbox().DB(), func() int { f.pass(anInboxCommit, false); return 0 })
}

// pass counts an item and begins to forget when it is the one.
func (f *forgetter) pass(kind item, after bool) (done chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind != f.item || after != f.after {
		return nil
	}
	if f.at++; f.at != f.nth {
		return nil
	}
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		_, f.err = f.ar.Forget(context.WithoutCancel(context.Background()), forgotten, "asked for")
	}()
	return f.done
}

// waitUntilForgotten waits for the end of the forgetting, and returns whether there was any.
func (f *forgetter) waitUntilForgotten(t *testing.T) bool {
	f.mu.Lock()
	done := f.done
	f.mu.Unlock()
	if done == nil {
		return false
	}
	<-done
	if errors.Is(f.err, archive.ErrNotFound) {
		return false // it had not come yet
	}
	if f.err != nil {
		t.Fatal(f.err)
	}
	return true
}

// TestForgetWhileItIsFetched forgets a meeting at calls, pieces of media and
// commits of a sync that brings it with its recording; with MINUTEBOOK_LONG at
// every one. Nothing of it may come back, and the others' recordings, which have
// the same bytes, stay.
func TestForgetWhileItIsFetched(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, f := range []knife{{item: aCall}, {item: aCall, after: true}, {item: aPiece}, {item: aCommit}} {
		for _, only := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, after %v, only %v", f.item, f.after, only), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { forgetEverywhere(t, f.item, f.after, only) })
			})
		}
	}
}

func forgetEverywhere(t *testing.T, kind item, after, only bool) {
	created := rig.Today().Add(-time.Hour)
	meetings := rig.Meeting(forgotten, created)
	if !only {
		meetings = rig.Meetings(3, created, 50*time.Hour)
	}
	u := rig.NewUpstream(t, service.Options{Video: rig.File(200_000)}, meetings)
	u.Wire.Rate = 1 << 20
	run := func(nth int) (items int) {
		ar := rig.NewArchive(t, archivetest.Dir(t))
		f := &forgetter{item: kind, after: after, nth: nth, ar: ar}
		f.arm(t, u.Wire)
		if err := command(t.Context(), t, u, ar); err != nil {
			t.Fatalf("forgotten at %d: %v", nth, err)
		}
		if f.waitUntilForgotten(t) {
			wantForgotten(t, ar, nth, only)
		}
		time.Sleep(2 * time.Minute)
		return f.at
	}
	items := run(0)
	step := items/6 + 1
	if testrun.IsLong() {
		step = 1
	}
	for nth := 1; nth <= items; nth += step {
		run(nth)
	}
}

// wantForgotten looks for bytes of the forgotten meeting.
func wantForgotten(t *testing.T, ar *archive.Archive, nth int, only bool) {
	t.Helper()
	if left := residue.Find(t, fmt.Sprintf("This is meeting %d.", forgotten), ar.Dir()); left != nil {
		t.Errorf("forgotten at %d, it is in %v", nth, left)
	}
	if _, err := os.Stat(ar.PartialPath("2")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("forgotten at %d, its partial file is there: %v", nth, err)
	}
	if row, err := ar.DownloadOf(t.Context(), forgotten); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("forgotten at %d, the queue has %+v, %v", nth, row, err)
	}
	if marks, err := ar.Marks(t.Context(), "sync/ask/2"); err != nil || len(marks) != 0 {
		t.Errorf("forgotten at %d, marks %v, %v", nth, marks, err)
	}
	_, err := ar.Verify(t.Context(), archive.VerifyOptions{}, func(d archive.Damage) {
		if d.Class != archive.DamageMode {
			t.Errorf("forgotten at %d, verify says %v", nth, d)
		}
	})
	if err != nil {
		t.Error(err)
	}
	for _, id := range []int64{1, 3} {
		if media, err := ar.MediaOf(t.Context(), id); !only && (err != nil || len(media) != 1) {
			t.Errorf("forgotten at %d: the recordings of meeting %d are %v, %v", nth, id, media, err)
		}
	}
}
