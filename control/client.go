package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNoDaemon is returned by [Dial] when no process answers on the socket.
var ErrNoDaemon = errors.New("no daemon is running on this data directory")

// Client calls the operations of a running daemon.
type Client struct {
	http http.Client
}

// Dial finds the daemon that owns a data directory. It returns ErrNoDaemon where
// none listens. Where another user's process listens, it returns an error that
// names the user: requests may have secrets, and the answers could be false.
func Dial(ctx context.Context, dataDir string) (*Client, error) {
	path, link, err := socketPath(dataDir)
	if err != nil {
		return nil, err
	}
	if path, err = followLink(path, link); err != nil {
		return nil, err
	}
	if err := checkFolder(path, dataDir); errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoDaemon
	} else if err != nil {
		return nil, fmt.Errorf("find the daemon: %w", err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialOwn(ctx, path, dataDir) }
	probe, err := dial(ctx, "", "")
	if err != nil {
		return nil, err
	}
	probe.Close()
	return &Client{http: http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// followLink returns the path of the daemon's socket. A link is the copy of another directory's, as
// of an archive that was copied as files, where it stands for a socket or names another one: the
// daemon that it leads to has the other archive.
func followLink(path, link string) (string, error) {
	if link == "" {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return "", ErrNoDaemon
		}
		return path, nil
	}
	if target, err := os.Readlink(link); err == nil && filepath.Base(target) == filepath.Base(path) {
		return target, nil
	}
	return path, nil
}

// dialOwn connects to the socket of a data directory, on which a trusted user listens.
func dialOwn(ctx context.Context, path, dataDir string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, ErrNoDaemon
	}
	uid, err := peerUID(c.(*net.UnixConn))
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("find out who listens on %s: %w", path, err)
	}
	if !isTrusted(uid, dataDir) {
		c.Close()
		return nil, fmt.Errorf("find the daemon: user %d listens on %s, and that is not you; remove this socket", uid, path)
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Call runs an operation in the daemon.
func (c *Client) Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon/operations/"+name, bytes.NewReader(request))
	if err != nil {
		return nil, fmt.Errorf("ask the daemon for %s: %w", name, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon for %s: %w", name, orEnded(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("ask the daemon for %s: %s: %s", name, resp.Status, bytes.TrimSpace(text))
	}
	return readFrames(name, resp.Body, onEvent)
}

// errEnded is the end of a daemon that was asked something.
var errEnded = errors.New("it ended before it had answered; see in its log why, and run the command again")

// orEnded makes errEnded of the error of a connection that broke.
func orEnded(err error) error {
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return errEnded
		}
	}
	if strings.HasSuffix(err.Error(), "http: server closed idle connection") { // net/http does not export it
		return errEnded
	}
	return err
}

func readFrames(name string, r io.Reader, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("ask the daemon for %s: %w", name, orEnded(err))
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("read the daemon's answer to %s: %w", name, err)
		}
		switch {
		case f.Error != nil:
			return nil, f.Error
		case f.Event != nil:
			if onEvent == nil {
				continue
			}
			if err := onEvent(f.Event); err != nil {
				return nil, err
			}
		default:
			return f.Result, nil
		}
	}
}
