package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// syncFails opens an inbox whose syncs of these numbers, counted from 1, fail; at
// calls fn before each.
func syncFails(t *testing.T, path string, failing []int32, at func(i *Inbox, n int32)) *Inbox {
	t.Helper()
	var i *Inbox
	var syncs atomic.Int32
	i = openTestInbox(t, path, InboxOptions{Fault: func(s InboxStep, done bool) error {
		if s != StepSync || done {
			return nil
		}
		n := syncs.Add(1)
		i.walFile.path = path + "-wal"
		if slices.Contains(failing, n) {
			i.walFile.path = path + "-gone"
		}
		if at != nil {
			at(i, n)
		}
		return nil
	}})
	return i
}

// The log of a sync that failed has a hole on the disk. Nothing that was answered
// afterwards is behind it when the power goes.
func TestInboxLogWithAHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := syncFails(t, path, []int32{2}, nil)
	put(t, i, delivery("a", "msg_0", "{}"))
	before := len(read(t, path+"-wal"))
	if _, err := i.Put(t.Context(), delivery("a", "msg_1", "{}")); !errors.Is(err, ErrInboxDisk) {
		t.Fatalf("a sync that failed: %v", err)
	}
	after := len(read(t, path+"-wal"))
	put(t, i, delivery("a", "msg_2", "{}"))
	for _, more := range []string{"", "msg_3"} {
		if more != "" {
			put(t, i, delivery("a", more, "{}"))
		}
		file, log := read(t, path), read(t, path+"-wal")
		clear(log[min(before, len(log)):min(after, len(log))])
		if more != "" { // begun anew: these are synced
			log = read(t, path+"-wal")
		}
		lost := filepath.Join(t.TempDir(), "inbox.db")
		if err := errors.Join(os.WriteFile(lost, file, 0o600), os.WriteFile(lost+"-wal", log, 0o600)); err != nil {
			t.Fatal(err)
		}
		want := []string{"msg_0", "msg_1", "msg_2"}
		if more != "" {
			want = append(want, more)
		}
		if diff := cmp.Diff(want, pendingIDs(t, openTestInbox(t, lost, InboxOptions{}))); diff != "" {
			t.Errorf("after the power was lost: %s", diff)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A body that is spilled while everything is written anew is not in a file that
// goes.
func TestInboxSpillsBesideWritingAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	first, fail := make(chan struct{}), make(chan struct{})
	inside, on := make(chan struct{}), make(chan struct{})
	i := syncFails(t, path, []int32{1}, func(_ *Inbox, n int32) {
		switch n {
		case 1:
			close(first)
			<-fail
		case 2:
			<-inside
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := i.Put(t.Context(), delivery("a", "first", "{}")); err == nil {
			t.Error("a sync that failed was answered")
		}
	})
	<-first
	wg.Go(func() { // committed, and waits for the first one's sync
		i.submit(t.Context(), &write{size: pressedBytes + 1, do: func(context.Context, *sql.Conn) error { return nil }})
	})
	queued(t, i, pressedBytes/1024)
	wg.Go(func() {
		if _, err := i.Put(t.Context(), delivery("a", "msg_0", largeBody(0))); err != nil {
			t.Error(err)
		}
	})
	queued(t, i, (pressedBytes+len(largeBody(0)))/1024)
	wg.Go(func() {
		i.submit(t.Context(), &write{do: func(context.Context, *sql.Conn) error {
			close(inside)
			<-on
			return nil
		}})
	})
	close(fail)
	<-inside
	time.Sleep(20 * time.Millisecond) // writing anew waits for this transaction, or has gone on without
	close(on)
	wg.Wait()
	if got := bodiesOf(t, i)["msg_0"]; got != largeBody(0) {
		t.Errorf("a delivery that was answered has a body of %d bytes", len(got))
	}
}
