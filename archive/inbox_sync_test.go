package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// failing opens an inbox whose syncs fail once fail was called.
func failing(t *testing.T, path string) (i *Inbox, fail func()) {
	t.Helper()
	i = openTestInbox(t, path, InboxOptions{})
	return i, func() { i.walFile.path = path + "-gone" } // no write is under way
}

// Once a sync has failed, a later one that succeeds says nothing of what was
// written before: nobody is answered again, a repeat neither, until the inbox was
// opened anew. Then all is there that was answered, and what was not is taken as
// a repeat of what is on disk.
func TestInboxTakesNothingAfterAFailedSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i, fail := failing(t, path)
	bring := spillInto(t, i, 20)
	fail()
	for k := range 3 {
		_, err := i.Put(t.Context(), delivery("a", fmt.Sprint("late_", k/2), "{}"))
		if !errors.Is(err, ErrInboxDisk) {
			t.Errorf("put %d: %v, want ErrInboxDisk", k, err)
		}
		i.walFile.path = path + "-wal" // from now on the disk is well
	}
	select {
	case <-i.Failed():
	default:
		t.Error("nobody is told")
	}
	bring()
	if err := i.bringIn(t.Context(), nil); !errors.Is(err, ErrInboxDisk) {
		t.Errorf("bringing in: %v", err)
	}
	if files := spillFiles(t, i); len(files) == 0 {
		t.Error("files of bodies are gone that may be nowhere else")
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = openTestInbox(t, path, InboxOptions{})
	if rows, left := spilledRows(t, i), read(t, i.spill.dir); rows != 0 || len(left) != 0 {
		t.Errorf("%d rows were not written anew; left are %v", rows, left)
	}
	want := largeBodies(20)
	want["late_0"] = "{}" // committed, and the first to fail
	if diff := cmp.Diff(want, bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
	if !put(t, i, delivery("a", "late_0", "{}")) || put(t, i, delivery("a", "late_1", "{}")) {
		t.Error("what is known is not what was committed")
	}
}

func read(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// While one brings bodies in, a sync fails: no file goes, since what it was
// brought into may not be on the disk.
func TestInboxKeepsFilesWhileASyncFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i, fail := failing(t, path)
	bring := spillInto(t, i, 2*bringRows)
	i.stopBringing()
	bring()
	steps := 0
	err := i.bringIn(t.Context(), func(context.Context) error {
		if steps++; steps == 2 {
			fail()
		}
		return nil
	})
	if !errors.Is(err, ErrInboxDisk) || len(spillFiles(t, i)) == 0 {
		t.Errorf("%v; left are %v", err, spillFiles(t, i))
	}
}
