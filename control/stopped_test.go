package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
	"minutebook/search"
)

// TestForgetWaitsForNoStoppedCommand forgets a meeting while a command that its terminal has
// stopped (Ctrl-Z) reads no answer: the daemon has done its work, and the command reads the newest
// progress, each damage and the result when it goes on.
func TestForgetWaitsForNoStoppedCommand(t *testing.T) {
	for name, c := range map[string]struct {
		request func(dir string) any
		answer  string
	}{
		"backup": {func(string) any { return control.BackupRequest{Destination: t.TempDir()} }, `^\{"event":.*\n\{"event":\{"done":\d+,"total":\d+\}\}\n\{"result":`},
		"verify": {func(dir string) any { return control.VerifyRequest{Repair: true, From: dir} }, `"damage":\{"class":"part".*\n(\{"event":.*\n)+\{"result":`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, dir := archivetest.New(t), t.TempDir()
				put(t, a, 1)
				put(t, a, 2)
				if _, err := backup.Run(t.Context(), a, dir, backup.Options{}); err != nil {
					t.Fatal(err)
				}
				behindTheBack(t, a, `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id IN (SELECT revision_id FROM parts WHERE part = 'transcript')`)
				h := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Activities: &control.Activities{},
					Index: func(context.Context) (*search.Index, error) { return nil, errors.New("none") }}
				command, daemon := net.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- control.Serve(ctx, newSocket(daemon), control.Operations(h)) }()
				defer func() {
					stop()
					if err := errors.Join(command.Close(), <-served); err != nil {
						t.Error(err)
					}
				}()
				body, err := json.Marshal(c.request(dir))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Fprintf(command, "POST /operations/%s HTTP/1.1\r\nHost: daemon\r\nContent-Length: %d\r\n\r\n%s", name, len(body), body); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // until the daemon does no more
				forgetting, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := a.Forget(forgetting, 1, "asked for"); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(command), nil)
				if err != nil {
					t.Fatal(err)
				}
				if answer, err := io.ReadAll(resp.Body); err != nil || !regexp.MustCompile(c.answer).Match(answer) {
					t.Errorf("the command reads %s, %v", answer, err)
				}
			})
		})
	}
}

// socket is a listener with one connection.
type socket struct {
	conns chan net.Conn
	close func()
}

func newSocket(conn net.Conn) *socket {
	conns := make(chan net.Conn, 1)
	conns <- conn
	return &socket{conns, sync.OnceFunc(func() { close(conns) })}
}

func (s *socket) Accept() (net.Conn, error) {
	if conn, ok := <-s.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (s *socket) Close() error   { s.close(); return nil }
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
