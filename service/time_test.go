package service

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// inVirtualTime is a sandbox whose clock is that of a synctest bubble, without
// a server: calls are made to its handler.
func inVirtualTime(t *testing.T, opts Options, lines ...string) *Service {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: ArchiveDir(t), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	opts.Archive, opts.Sandbox, opts.Logger = a, true, zerolog.Nop()
	s, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), strings.NewReader(strings.Join(lines, "\n")), "test"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Service) ask(t *testing.T, path, key string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, BasePath+path, nil)
	r.Header.Set("X-Api-Key", key)
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, r)
	loadContract(t).judge(r, rec)
	return rec
}

func TestEveryAnswerHasTheLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inVirtualTime(t, Options{Latency: 3 * time.Second}, meeting(1))
		for path, want := range map[string]int{"/meetings": 401, "/nothing": 404, "/openapi.yaml": 200} {
			began := time.Now()
			if rec := s.ask(t, path, "x"); rec.Code != want || time.Since(began) != 3*time.Second {
				t.Errorf("%s: %d after %v", path, rec.Code, time.Since(began))
			}
		}
	})
}

func TestMeetingsFinishEverySoOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inVirtualTime(t, Options{Hold: 2, NewEvery: 30 * time.Second}, meeting(1), meeting(2), meeting(3))
		done := make(chan error, 1)
		go func() { done <- s.finishEvery(t.Context()) }()
		for i, want := range []int{1, 2, 3, 3} {
			time.Sleep(15 * time.Second)
			if err := s.mirror.Refresh(t.Context()); err != nil || len(s.mirror.IDs()) != want {
				t.Errorf("after %d rounds there are %v, want %d: %v", i, s.mirror.IDs(), want, err)
			}
			time.Sleep(15 * time.Second)
			synctest.Wait()
		}
		go func() { <-done }()
	})
}

// Whoever comes while as many requests as can be are being answered waits for a
// turn, and is told so when none comes.
func TestRequestsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inVirtualTime(t, Options{}, meeting(1))
		key, err := s.CreateKey(t.Context(), "ann@acme.example")
		if err != nil {
			t.Fatal(err)
		}
		for range maxConcurrent {
			s.slots <- struct{}{}
		}
		began := time.Now()
		if rec := s.ask(t, "/teams", key); rec.Code != http.StatusServiceUnavailable || time.Since(began) != s.timeouts.turn {
			t.Errorf("answered %d after %v", rec.Code, time.Since(began))
		}
		time.AfterFunc(5*time.Second, func() { <-s.slots })
		if rec := s.ask(t, "/teams", key); rec.Code != http.StatusOK {
			t.Errorf("answered %d though there was a turn", rec.Code)
		}
	})
}
