package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxSocketPath is what fits into sockaddr_un on every system we run on, less
// the closing zero (macOS has 104 bytes, Linux 108).
const maxSocketPath = 103

// SocketPath is where the owner of a data directory listens: in the directory
// itself, or, where that path is too long for a socket, in the user's runtime
// directory under a name made from it.
func SocketPath(dataDir string) (string, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("find the data directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	path := filepath.Join(abs, "control.sock")
	if len(path) <= maxSocketPath {
		return path, nil
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(runtimeDir(), "minutebook-"+hex.EncodeToString(sum[:8])+".sock"), nil
}

func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "minutebook-"+strconv.Itoa(os.Getuid()))
}

// Listen opens the socket of a data directory. The caller holds the
// directory's lock, so a socket that is already there was left by a process
// that died, and is removed.
func Listen(dataDir string) (net.Listener, error) {
	path, err := SocketPath(dataDir)
	if err != nil {
		return nil, err
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a process that died: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("make the command socket private: %w", err)
	}
	return &ownListener{UnixListener: l.(*net.UnixListener)}, nil
}

// privateDir makes the folder if need be and refuses one that others may
// write to and that is not ours, where a foreign socket could stand.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the command socket: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder of the command socket: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("listen for commands: %s belongs to another user", dir)
	}
	return nil
}

// ownListener accepts connections of this process's user (and root) only.
type ownListener struct{ *net.UnixListener }

// Accept waits for the next connection of an allowed peer; others are closed.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && (uid == os.Getuid() || uid == 0) {
			return c, nil
		}
		c.Close()
	}
}
