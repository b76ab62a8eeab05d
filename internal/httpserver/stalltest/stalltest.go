// Package stalltest stalls exchanges with an HTTP server over raw connections, and
// checks that the server ends them.
package stalltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// limit is the longest time that a test waits for a server to end an exchange.
const limit = 40 * time.Second

// stall is the beginning of a request that a peer sends before it falls silent.
type stall struct {
	name, text string
	answers    int // to come at least, before the connection ends
}

// listStalls returns the ways to stall a request. Each line of headers ends with
// CRLF.
func listStalls(method, path, headers string) []stall {
	first := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers
	whole := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n"
	return []stall{
		{"nothing", "", 0},
		{"headers", first + "X-Half", 0},
		{"body", first + "Content-Length: 100\r\n\r\ng", 1},
		{"unsent body", first + "Content-Length: 100\r\n\r\n", 1},
		{"chunk", first + "Transfer-Encoding: chunked\r\n\r\n5\r\ng", 1},
		{"keep-alive", whole, 1},
		{"next headers", whole + first + "X-Half", 1},
		{"next body", whole + first + "Content-Length: 100\r\n\r\ng", 2},
	}
}

// tries is how often a stall is tried that gets fewer answers than it should: on a machine
// that does much else, a server's times pass before it has read the request.
const tries = 5

// Requests stalls a request in each way. It fails the test unless the server
// answers where it can and closes the connection. The server's times must be well
// below a second.
func Requests(t *testing.T, addr, method, path, headers string) {
	t.Helper()
	var all sync.WaitGroup
	for _, s := range listStalls(method, path, headers) {
		all.Go(func() {
			var err error
			for range tries {
				if err = s.exchange(addr); !errors.Is(err, errAnswers) {
					break
				}
			}
			if err != nil {
				t.Errorf("%s %s, %s: %v", method, path, s.name, err)
			}
		})
	}
	all.Wait()
}

// errAnswers: a server closed the connection with fewer answers than it should send.
var errAnswers = errors.New("too few answers")

// exchange sends the beginning of a request and waits for the server to close the
// connection.
func (s stall) exchange(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, s.text); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return fmt.Errorf("the server holds the connection for ever; it answered %.80q", answer)
	}
	want := s.answers
	if bytes.Contains(answer, []byte("Connection: close")) {
		want = min(want, 1) // so there is no second one
	}
	if n := bytes.Count(answer, []byte("HTTP/1.1 ")); n < want {
		return fmt.Errorf("%w: %d, want %d: %q", errAnswers, n, want, answer)
	}
	return nil
}

// Listener is a listener that reports when the server closes a connection.
type Listener struct {
	net.Listener
	mu     sync.Mutex
	closed map[string]chan struct{} // by the peer's address
}

// Watch wraps a listener.
func Watch(l net.Listener) *Listener {
	return &Listener{Listener: l, closed: map[string]chan struct{}{}}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, end: sync.OnceFunc(func() { l.markEnd(c.RemoteAddr().String()) })}, nil
}

// markEnd closes the channel of a peer, unless an earlier connection from the same port
// closed it.
func (l *Listener) markEnd(peer string) {
	end := l.end(peer)
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-end:
	default:
		close(end)
	}
}

// end returns a channel that is closed when the server has closed the connection
// of a peer.
func (l *Listener) end(peer string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed[peer] == nil {
		l.closed[peer] = make(chan struct{})
	}
	return l.closed[peer]
}

type conn struct {
	net.Conn
	end func()
}

// Close closes the connection and the channel of its peer.
func (c *conn) Close() error {
	defer c.end()
	return c.Conn.Close()
}

// Answer requests a body larger than the sockets' buffers, reads none of it, and
// fails the test unless the server closes the connection.
func (l *Listener) Answer(t *testing.T, path, headers string) {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.end(c.LocalAddr().String()):
	case <-time.After(limit):
		t.Errorf("GET %s: the server waits for ever for its answer to be read", path)
	}
}
