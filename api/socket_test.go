package api

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.MainOnOneProcessor(m) }

// breakOff sends raw bytes and closes the connection.
func breakOff(t *testing.T, w http.ResponseWriter, raw string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = conn.Write([]byte(raw))
	if tcp, ok := conn.(*net.TCPConn); ok && raw == "" {
		_ = tcp.SetLinger(0) // a reset
	}
	_ = conn.Close()
}

// Over real connections: an answer that ends early, resets and passing failures
// are met again; the second call brings the answer that the first lost.
func TestBrokenConnectionsAreMetAgain(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(w http.ResponseWriter, r *http.Request){
		"reset": func(w http.ResponseWriter, _ *http.Request) { breakOff(t, w, "") },
		"cut body": func(w http.ResponseWriter, _ *http.Request) {
			breakOff(t, w, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"items\":")
		},
		"cut chunks": func(w http.ResponseWriter, _ *http.Request) {
			breakOff(t, w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"it\r\n")
		},
		"503": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					first(w, r)
					return
				}
				fmt.Fprint(w, `{"items":[{"name":"A"}],"next_cursor":null}`)
			}))
			defer s.Close()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			c, err := NewClient(ClientOptions{BaseURL: s.URL, Credential: APIKey("k"), HTTP: &http.Client{Transport: tr}, Rand: func() float64 { return 0 }})
			if err != nil {
				t.Fatal(err)
			}
			page, err := c.TeamsPage(t.Context(), "")
			if err != nil || len(page.Items) != 1 || calls.Load() != 2 {
				t.Fatalf("got %+v, %v after %d calls", page, err, calls.Load())
			}
			if u := c.Budget().Snapshot()[0]; u.Used != 2 || u.InFlight != 0 {
				t.Errorf("both calls count until a window has passed, but there is %+v", u)
			}
		})
	}
}

// TestAKeptConnectionBreaksAtEveryByte has the service break off the second answer of a kept
// connection at each of its bytes: the call fails as one that may be made again, or has the
// whole answer, and the budget counts each request that the service has read.
func TestAKeptConnectionBreaksAtEveryByte(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 43\r\n\r\n{\"items\":[{\"name\":\"A\"}],\"next_cursor\":null}",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n19\r\n{\"items\":[{\"name\":\"A\"}],\"\r\n12\r\nnext_cursor\":null}\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range len(answer) + 1 {
				breakKept(t, answer, n)
			}
		})
	}
}

func breakKept(t *testing.T, answer string, n int) {
	var read atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			requests := bufio.NewReader(conn)
			for {
				if _, err := http.ReadRequest(requests); err != nil {
					break
				}
				end := len(answer)
				if read.Add(1) == 2 {
					end = n
				}
				_, _ = conn.Write([]byte(answer[:end]))
				if end < len(answer) {
					break
				}
			}
			_ = conn.Close()
		}
	})
	tr := &http.Transport{}
	c, err := NewClient(ClientOptions{BaseURL: "http://" + l.Addr().String(), Credential: APIKey("k"), HTTP: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a, _, err := c.attempt(t.Context(), get("/teams", nil), time.Now())
		switch {
		case i == 1 && n < len(answer):
			if !IsTemporary(err) || isUnsent(err) {
				t.Errorf("broken at byte %d: %v", n, err)
			}
		case err != nil || !strings.HasSuffix(string(a.body), `"next_cursor":null}`):
			t.Errorf("broken at byte %d, call %d: %+v, %v", n, i, a, err)
		}
	}
	if u := c.Budget().Snapshot()[0]; u.Used != int(read.Load()) || u.InFlight != 0 {
		t.Errorf("broken at byte %d: %d requests were read, and %+v counted", n, read.Load(), u)
	}
	tr.CloseIdleConnections()
	_ = l.Close()
	serving.Wait()
}

func TestACallThatNeverConnectedCountsForNothing(t *testing.T) {
	t.Parallel()
	c, err := NewClient(ClientOptions{BaseURL: "http://" + testrun.FreeAddress(t), Credential: APIKey("k"), Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.attempt(t.Context(), get("/teams", nil), time.Now())
	if !IsTemporary(err) || !isUnsent(err) || c.Budget().Snapshot()[0].Used != 0 {
		t.Errorf("%v, used %d", err, c.Budget().Snapshot()[0].Used)
	}
}

func TestACertificateThatIsNotAcceptedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	for _, base := range []string{secure.URL, "https" + strings.TrimPrefix(open.URL, "http")} {
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		c, err := NewClient(ClientOptions{BaseURL: base, Credential: APIKey("k"), HTTP: &http.Client{Transport: tr}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Check(t.Context())
		if err == nil || IsTemporary(err) || c.Budget().Snapshot()[0].Used != 0 {
			t.Errorf("%v, used %d", err, c.Budget().Snapshot()[0].Used)
		}
	}
}
