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

// maxSocketPath is the longest path, in bytes, that fits into sockaddr_un on every
// supported system without the closing zero (macOS has 104, Linux 108).
const maxSocketPath = 103

// socketName is the name of the socket in the data directory.
const socketName = "control.sock"

// socketPath returns the path of a data directory's socket: in the directory, or, where that path
// is too long for a socket, in the user's runtime directory under a name derived from it. A link at
// the long path leads there, since a command may have another runtime directory: link is "" without.
func socketPath(dataDir string) (path, link string, err error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", "", fmt.Errorf("find the data directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	path = filepath.Join(abs, socketName)
	if len(path) <= maxSocketPath {
		return path, "", nil
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(runtimeDir(), "minutebook-"+hex.EncodeToString(sum[:8])+".sock"), path, nil
}

func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "minutebook-"+strconv.Itoa(os.Getuid()))
}

// Listen opens the socket of a data directory. The caller holds the
// directory's lock, so an existing socket was left by a process that died, and is
// removed.
func Listen(dataDir string) (net.Listener, error) {
	path, link, err := socketPath(dataDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the command socket: %w", err)
	}
	if err := checkFolder(path, dataDir); err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
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
	if link != "" {
		if err := replaceLink(path, link); err != nil {
			l.Close()
			return nil, fmt.Errorf("link to the command socket: %w", err)
		}
	}
	return &ownListener{UnixListener: l.(*net.UnixListener)}, nil
}

// replaceLink makes link lead to path.
func replaceLink(path, link string) error {
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(path, link)
}

// checkFolder refuses a folder of another user, and outside the data directory a
// folder to which others may write: the socket in it could be a stranger's. It
// fails with os.ErrNotExist where there is none.
func checkFolder(path, dataDir string) error {
	dir := filepath.Dir(path)
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder of the command socket: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	isForeign, isData := !ok || !isTrusted(int(st.Uid), dataDir), filepath.Base(path) == socketName
	switch {
	case isForeign && isData:
		return fmt.Errorf("%s belongs to another user; give the command as that user or by sudo", dir)
	case isForeign:
		return fmt.Errorf("%s belongs to another user; give it to yours, or remove it", dir)
	case !isData && (!info.IsDir() || info.Mode().Perm()&0o022 != 0):
		return fmt.Errorf("others may write to %s; run chmod 700 on it, or remove it", dir)
	}
	return nil
}

// isTrusted reports whether a user may be at the other end of a socket: this user,
// root and, for root, the owner of the data directory.
func isTrusted(uid int, dataDir string) bool {
	if uid == os.Getuid() || uid == 0 {
		return true
	}
	if os.Getuid() != 0 {
		return false
	}
	info, err := os.Stat(dataDir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// ownListener accepts connections of this process's user (and root) only.
type ownListener struct{ *net.UnixListener }

// Accept waits for the next connection of an allowed peer. It closes others.
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
