// Package httpserver builds the HTTP servers of the program, so that no peer
// can hold a connection by sending nothing more or by reading nothing more.
//
// Each part of an exchange has its own time: the headers, the body, each piece
// of the answer, and the pause before the next request. There is no time for a
// whole answer, since a recording or a long poll may take as long as it likes
// while its reader goes on reading.
package httpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"minutebook/internal/pause"
)

// Times limit the parts of an exchange. A zero field takes the default that its
// comment names.
type Times struct {
	Header time.Duration // the headers of a request, from its first byte; 10 s
	Body   time.Duration // the headers and the body, unless the handler sets a read deadline; 10 s
	Answer time.Duration // a piece of the answer, unless the handler sets a write deadline; 1 min
	Idle   time.Duration // from an answer to the next request; 2 min
}

func (t Times) withDefaults() Times {
	return Times{
		Header: cmp.Or(t.Header, 10*time.Second), Body: cmp.Or(t.Body, 10*time.Second), Answer: cmp.Or(t.Answer, time.Minute),
		Idle: cmp.Or(t.Idle, 2*time.Minute),
	}
}

// New returns a server that enforces the times and writes the messages of
// net/http to log. A handler that sets a read deadline must not clear it after a
// failed read, because net/http reads the rest of the body before it writes the
// answer.
func New(h http.Handler, t Times, log zerolog.Logger) *http.Server {
	t = t.withDefaults()
	return &http.Server{
		Handler:           paceAnswers(h, t.Answer+t.Body), // net/http first reads the rest of a body
		ReadHeaderTimeout: t.Header,
		ReadTimeout:       t.Body,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          stdlog.New(errorLog{log}, "", 0),
	}
}

// Serve serves l within its bounds until ctx ends, with TLS where the server has
// a configuration for it. Then it gives requests the time stop to finish, closes
// the remaining connections, and returns nil. It returns an error when it cannot
// go on. It closes l.
func Serve(ctx context.Context, srv *http.Server, l net.Listener, b Bounds, stop time.Duration) error {
	first := &firstRequests{}
	l, srv.ConnContext, srv.ConnState = boundListener(l, b), withConn, first.follow
	done := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			done <- srv.ServeTLS(l, "", "")
		} else {
			done <- srv.Serve(l)
		}
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stop)
	defer cancel()
	l.Close()
	served := <-done
	first.wait(grace)
	if srv.Shutdown(grace) != nil {
		if srv.ErrorLog != nil {
			srv.ErrorLog.Printf("http: closed connections to %s before their answer", l.Addr())
		}
		srv.Close()
	}
	if !errors.Is(served, http.ErrServerClosed) && !errors.Is(served, net.ErrClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), served)
	}
	return nil
}

// firstRequests counts the connections of which no request has been read. A server that
// shuts down closes them, although their requests may be on the way.
type firstRequests struct {
	mu  sync.Mutex
	new map[net.Conn]bool
}

// follow is the server's ConnState.
func (f *firstRequests) follow(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.new == nil {
		f.new = map[net.Conn]bool{}
	}
	if delete(f.new, c); state == http.StateNew {
		f.new[c] = true
	}
}

// wait waits until each connection has had its first request, 200 ms at most. Browsers
// also open connections for later: they are not waited for.
func (f *firstRequests) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	for f.count() > 0 && pause.For(ctx, 2*time.Millisecond) == nil {
	}
}

func (f *firstRequests) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.new)
}

// errorLog gives the lines of net/http a level, because most of them are about
// strangers' connections.
type errorLog struct{ log zerolog.Logger }

// Write logs a line.
func (e errorLog) Write(line []byte) (int, error) {
	level := zerolog.DebugLevel
	switch {
	case bytes.HasPrefix(line, []byte("http: panic")):
		level = zerolog.ErrorLevel
	case bytes.HasPrefix(line, []byte("http: Accept")), bytes.HasPrefix(line, []byte("http: closed connections")):
		level = zerolog.WarnLevel
	}
	e.log.WithLevel(level).Bytes("line", bytes.TrimSpace(line)).Msg("the web server reports")
	return len(line), nil
}
