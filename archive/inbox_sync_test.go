package archive

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Nobody is answered before the disk has it, a repeat neither; the next group is
// committed meanwhile.
func TestInboxAnswersAfterTheSync(t *testing.T) {
	gate, atDisk := make(chan struct{}), make(chan struct{}, 10)
	open := sync.OnceFunc(func() { close(gate) })
	var commits atomic.Int32
	i := openTestInbox(t, filepath.Join(t.TempDir(), "inbox.db"), InboxOptions{Fault: func(s InboxStep, done bool) error {
		switch {
		case s == StepCommit && done:
			commits.Add(1)
		case s == StepSync && !done:
			atDisk <- struct{}{}
			<-gate
		}
		return nil
	}})
	t.Cleanup(open)
	var answered atomic.Int32
	var wg sync.WaitGroup
	send := func(id string, duplicate bool) {
		wg.Go(func() {
			dup, err := i.Put(t.Context(), delivery("a", id, "{}"))
			if err != nil || dup != duplicate {
				t.Errorf("%s: duplicate %v, %v", id, dup, err)
			}
			answered.Add(1)
		})
	}
	send("msg_1", false)
	<-atDisk
	send("msg_1", true)
	queued(t, i, 2)
	send("msg_2", false)
	queued(t, i, 3)
	for commits.Load() < 2 { // the second group is committed while the first is at the disk
		select {
		case <-t.Context().Done():
			t.Fatal("nothing is committed while the disk is busy")
		default:
		}
	}
	if n := answered.Load(); n != 0 {
		t.Errorf("%d were answered before their sync", n)
	}
	open()
	wg.Wait()
	if diff := cmp.Diff([]string{"msg_1", "msg_2"}, pendingIDs(t, i)); diff != "" {
		t.Error(diff)
	}
}

// Once a sync has failed, a later one that succeeds says nothing of what was
// written before: everything is written anew before anybody is answered again.
func TestInboxWritesAnewAfterAFailedSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i, bring := spilling(t, path, 20)
	log := i.walFile.path
	if err := i.walFile.close(); err != nil {
		t.Fatal(err)
	}
	i.walFile.path = filepath.Join(t.TempDir(), "gone")
	for k := range 2 {
		if _, err := i.Put(t.Context(), delivery("a", fmt.Sprint("early_", k), "{}")); (err == nil) != (k == 1) || err != nil && !errors.Is(err, ErrInboxDisk) {
			t.Errorf("put %d: %v", k, err)
		}
		if k == 0 {
			i.walFile.path = log
		}
	}
	if rows, files := spilledRows(t, i), spillFiles(t, i); rows != 0 || len(files) != 0 {
		t.Errorf("%d rows and the files %v were not written anew", rows, files)
	}
	if !put(t, i, delivery("a", "early_0", "{}")) {
		t.Error("what was committed when the sync failed is not known")
	}
	bring()
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = openTestInbox(t, path, InboxOptions{})
	want := largeBodies(20)
	want["early_0"], want["early_1"] = "{}", "{}"
	if diff := cmp.Diff(want, bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
}
