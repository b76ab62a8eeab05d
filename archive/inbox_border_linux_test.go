package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"minutebook/internal/durable"
)

// unprivileged runs work in a thread that may not do what root may; the thread
// ends with it.
func unprivileged(t *testing.T, work func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		var err error
		defer func() { done <- err }()
		runtime.LockOSThread() // and never unlock
		if os.Getuid() != 0 {
			work()
			return
		}
		const nobody = 65534
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0)); e != 0 {
			err = e
			return
		}
		work()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A folder in which files can be made and which cannot be opened cannot be
// synced either: a spilled body's new file is not relied upon there, in its own
// folder nor in the folder's.
func TestASpillFileIsNotBegunWithoutItsFolder(t *testing.T) {
	for _, sealed := range []string{"inbox.spill", "."} {
		top, err := os.MkdirTemp("/tmp", "minutebook-spill-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(filepath.Join(top, sealed), 0o700); os.RemoveAll(top) })
		dir := filepath.Join(top, "inbox.spill")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{top, dir} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		s := &spill{dir: dir}
		unprivileged(t, func() {
			if err := s.begin(); err != nil {
				t.Errorf("begin in open folders: %v", err)
			}
		})
		if err := os.Chmod(filepath.Join(top, sealed), 0o333); err != nil {
			t.Fatal(err)
		}
		s = &spill{dir: dir, number: 7}
		unprivileged(t, func() {
			if err := s.begin(); !errors.Is(err, fs.ErrPermission) || s.file != nil {
				t.Errorf("begin where %s cannot be synced: %v, file %v", sealed, err, s.file)
			}
			if _, err := os.Stat(s.path(8)); err != nil {
				t.Errorf("the fault is not that of the sync: %v", err)
			}
		})
	}
}

// What a log holds is in the inbox's own file, synced by SQLite, before anything
// is answered from it: after a failed sync the log's pages can be clean in memory
// and not on disk, and no later sync of the log would write them.
func TestInboxOpensWithAnEmptyLog(t *testing.T) {
	path, killed := filepath.Join(t.TempDir(), "inbox.db"), filepath.Join(t.TempDir(), "inbox.db")
	i := openTestInbox(t, path, InboxOptions{})
	if _, err := i.Put(t.Context(), delivery("a", "msg_1", "{}")); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} { // as after kill -9
		copyFile(t, path+end, killed+end)
	}
	if log, err := os.Stat(killed + "-wal"); err != nil || log.Size() == 0 {
		t.Fatalf("the log that was left: %v, %v", log, err)
	}
	openTestInbox(t, killed, InboxOptions{})
	alone := filepath.Join(t.TempDir(), "inbox.db")
	copyFile(t, killed, alone)
	if got := pendingIDs(t, openTestInbox(t, alone, InboxOptions{})); len(got) != 1 {
		t.Errorf("the inbox's file alone has %v", got)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = durable.WriteFile(to, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}
