package service

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestHeavyCallsAreLimitedAndRefusedCallsCountForNothing(t *testing.T) {
	for _, window := range []Window{WindowFixed, WindowSliding} {
		s := newSandbox(t, Options{Window: window}, meeting(1))
		const heavyPath = "/recordings/1/transcript"
		for i := range 30 {
			a := s.get(heavyPath, s.admin, 200)
			if got := a.header.Get("RateLimit-Limit") + "/" + a.header.Get("RateLimit-Remaining"); got != fmt.Sprintf("30/%d", 29-i) {
				t.Fatalf("call %d: %s", i, got)
			}
			s.clock.add(time.Second)
		}
		for range 5 {
			a := s.get(heavyPath, s.admin, http.StatusTooManyRequests)
			if a.header.Get("Retry-After") != "30" || a.header.Get("RateLimit-Remaining") != "0" {
				t.Fatalf("%s window: %v", window, a.header)
			}
		}
		// The refused calls took nothing of the global limit: 30 are left there.
		for range 30 {
			s.get("/teams", s.admin, 200)
		}
		s.get("/teams", s.admin, http.StatusTooManyRequests)
		s.get("/teams", s.key("ann@acme.example"), 200) // another credential
	}
}

func TestLimitsChangeWhileRunningAndStay(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a, Sandbox: true}, meeting(1))
	if err := s.SetLimits(t.Context(), Limits{Elevated: true, DownloadLimit: 2, Window: WindowSliding}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		want := 200
		if i == 5 {
			want = http.StatusTooManyRequests
		}
		s.get("/meetings?include_summary=true", s.admin, want)
	}
	for i := range 3 {
		want := http.StatusAccepted
		if i == 2 {
			want = http.StatusTooManyRequests
		}
		if got := s.call(http.MethodPost, "/recordings/1/download", s.admin, ""); got.status != want {
			t.Fatalf("download %d: %d, want %d", i, got.status, want)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	if got := again.Limits(); got != (Limits{Global: 60, Heavy: 30, Elevated: true, DownloadLimit: 2, Window: WindowSliding}) {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestRetryAfterIsNeverTooEarly(t *testing.T) {
	s := newSandbox(t, Options{Window: WindowSliding}, meeting(1))
	for range 30 {
		s.get("/recordings/1/summary", s.admin, 200)
		s.clock.add(137 * time.Millisecond)
	}
	a := s.get("/recordings/1/summary", s.admin, http.StatusTooManyRequests)
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil {
		t.Fatal(err)
	}
	s.clock.add(time.Duration(wait) * time.Second)
	s.get("/recordings/1/summary", s.admin, 200)
}

// Changing the window forgets no call: nobody gets more than the limit by it.
func TestTheWindowChangesWhileRunning(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	change := func(w Window) {
		t.Helper()
		if err := s.SetLimits(t.Context(), Limits{Window: w}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		s.get("/recordings/1/summary", s.admin, 200)
		s.clock.add(2 * time.Second)
	}
	change(WindowSliding)
	for range 10 {
		s.get("/recordings/1/summary", s.admin, 200)
	}
	s.clock.add(20 * time.Second) // 60 s after the first of them
	s.get("/recordings/1/summary", s.admin, 200)
	a := s.get("/recordings/1/summary", s.admin, http.StatusTooManyRequests)
	if a.header.Get("Retry-After") != "2" {
		t.Errorf("sliding: Retry-After %s, want 2", a.header.Get("Retry-After"))
	}
	change(WindowFixed)
	if a := s.get("/recordings/1/summary", s.admin, http.StatusTooManyRequests); a.header.Get("Retry-After") != "2" {
		t.Errorf("fixed: Retry-After %s, want 2", a.header.Get("Retry-After"))
	}
	s.clock.add(2 * time.Second)
	for range 30 {
		s.get("/recordings/1/summary", s.admin, 200)
	}
	if err := s.SetLimits(t.Context(), Limits{Window: "rolling"}); err == nil {
		t.Error("there is a window called rolling")
	}
}

// TestAChangeKeepsNoOptionOfARun changes one limit while a run has options of its own.
func TestAChangeKeepsNoOptionOfARun(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a, Sandbox: true, Elevated: true, DownloadLimit: 5, Window: WindowSliding}, meeting(1))
	now, err := s.ChangeLimits(t.Context(), func(l *Limits) { l.Global = 100 })
	if want := (Limits{Global: 100, Heavy: 30, Elevated: true, DownloadLimit: 5, Window: WindowSliding}); err != nil || now != want {
		t.Errorf("in force: %+v, %v, want %+v", now, err, want)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	if got, want := again.Limits(), (Limits{Global: 100, Heavy: 30, DownloadLimit: 30, Window: WindowFixed}); got != want {
		t.Errorf("in the next run: %+v, want %+v", got, want)
	}
}
