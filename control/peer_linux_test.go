package control

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// stranger is a user who is nobody here.
const stranger = 65534

// asStranger runs work in a thread of another user; the sockets that it opens
// are that user's. The thread ends with it.
func asStranger(t *testing.T, work func() error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread is of no use to others
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, stranger, stranger, ^uintptr(0)); e != 0 {
			done <- e
			return
		}
		done <- work()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// openDir is a folder that everybody reaches, with a mode.
func openDir(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "minutebook-peer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Even where the socket's mode lets everybody in, another user is not answered.
func TestAnotherUserMayNotCommand(t *testing.T) {
	dir := openDir(t, 0o755)
	defer serve(t, dir, operations(nil))()
	path := filepath.Join(dir, socketName)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	ask := func() (answer []byte, err error) {
		c, err := net.Dial("unix", path)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		// The daemon may have closed it already.
		_, _ = io.WriteString(c, "POST /operations/greet HTTP/1.1\r\nHost: daemon\r\nConnection: close\r\nContent-Length: 13\r\n\r\n{\"Name\":\"Bo\"}")
		answer, _ = io.ReadAll(c)
		return answer, nil
	}
	var answer []byte
	asStranger(t, func() (err error) { answer, err = ask(); return err })
	if len(answer) != 0 {
		t.Errorf("another user is answered %q", answer)
	}
	if answer, err := ask(); err != nil || !strings.Contains(string(answer), "hello Bo") {
		t.Errorf("the owner is answered %q, %v", answer, err)
	}
}

// A command says nothing to a socket that another user listens on.
func TestAnotherUserIsNotTheDaemon(t *testing.T) {
	dir := openDir(t, 0o777)
	var l net.Listener
	asStranger(t, func() (err error) { l, err = net.Listen("unix", filepath.Join(dir, socketName)); return err })
	defer l.Close()
	if c, err := Dial(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "user 65534 listens") {
		t.Errorf("dialled: %v, %v", c, err)
	}
}

// A command of another user is told how to reach the archive, and not to take its folder away.
func TestACommandOfAnotherUserSaysWhoMayGiveIt(t *testing.T) {
	dir := openDir(t, 0o755)
	asStranger(t, func() error { return nil }) // from here on as root
	if err := os.Chown(dir, stranger-1, stranger-1); err != nil {
		t.Fatal(err)
	}
	var err error
	asStranger(t, func() error { _, err = Dial(t.Context(), dir); return nil })
	if err == nil || !strings.HasSuffix(err.Error(), dir+" belongs to another user; give the command as that user or by sudo") {
		t.Error(err)
	}
}

// The folder for sockets whose own path would be too long is this user's alone.
func TestAFolderOfOthersIsRefused(t *testing.T) {
	tmp := openDir(t, 0o755)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", tmp)
	data := filepath.Join(tmp, strings.Repeat("long", 40))
	refused := func(why string) {
		t.Helper()
		if l, err := Listen(data); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("listen: %v, %v; want %q", l, err, why)
		}
		if c, err := Dial(t.Context(), data); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("dial: %v, %v; want %q", c, err, why)
		}
	}
	dir := runtimeDir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("others may write")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(openDir(t, 0o700), dir); err != nil {
		t.Fatal(err)
	}
	refused("others may write")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	asStranger(t, func() error { return nil }) // from here on as root
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	if err := os.Chown(dir, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	path, _, err := socketPath(data)
	if err != nil {
		t.Fatal(err)
	}
	asStranger(t, func() (err error) { l, err = net.Listen("unix", path); return err })
	defer l.Close()
	if c, err := Dial(t.Context(), data); err == nil {
		t.Errorf("dialled a stranger's socket in a stranger's folder: %v", c)
	}
}
