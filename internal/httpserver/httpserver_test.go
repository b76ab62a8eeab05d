package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/internal/httpserver/stalltest"
)

// start serves h with short times, each the same, until the test ends.
func start(t *testing.T, h http.Handler, short time.Duration) *stalltest.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := stalltest.Watch(ln)
	srv := New(h, Times{Header: short, Body: short, Answer: short, Idle: short}, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, srv, l, Bounds{}, time.Second) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}

// handlers are the kinds of route.
func handlers() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/unread", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	mux.HandleFunc("/read", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	mux.HandleFunc("/own", func(w http.ResponseWriter, r *http.Request) { // as the receiver does
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, _ = io.ReadAll(r.Body)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { // an answer that takes longer than each of the times
		for range 10 {
			_, _ = io.WriteString(w, "piece\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(200 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("/poll", func(w http.ResponseWriter, r *http.Request) { // a long poll
		select {
		case <-time.After(1500 * time.Millisecond):
			_, _ = io.WriteString(w, "news")
		case <-r.Context().Done():
		}
	})
	return mux
}

func TestStalledExchangesEnd(t *testing.T) {
	t.Parallel()
	l := start(t, handlers(), 100*time.Millisecond)
	for _, path := range []string{"/unread", "/read", "/own"} {
		stalltest.Requests(t, l.Addr().String(), "POST", path, "")
	}
	l.Answer(t, "/large", "")
}

func TestWhatGoesOnIsNotCut(t *testing.T) {
	t.Parallel()
	l := start(t, handlers(), time.Second)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	defer all.Wait()
	for path, want := range map[string]int{"/slow": 60, "/poll": 4} {
		all.Go(func() {
			for _, method := range []string{"GET", "POST", "GET"} { // on one connection
				req, err := http.NewRequest(method, "http://"+l.Addr().String()+path, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Errorf("%s %s: %v", method, path, err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(body) != want {
					t.Errorf("%s %s: %d bytes, %v", method, path, len(body), err)
				}
			}
		})
	}
}
