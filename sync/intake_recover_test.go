package syncer

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A panic while deliveries are applied costs time and no delivery.
func TestIntakeGoesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	now, broken := s.now, new(atomic.Bool)
	s.now = func() time.Time {
		if broken.Load() {
			panic("a clock that nobody thought of")
		}
		return now()
	}
	broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.runIntake(ctx) }()
	deliver(t, s, "m1", fmt.Sprintf(whole, 1, time.Now().UTC().Format(time.RFC3339)))
	wait := func(what string, reached func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !reached(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("in a minute: no %s", what)
			}
		}
	}
	wait("trouble", func() bool { return strings.Contains(strings.Join(s.problems.list(), " "), "panic") })
	broken.Store(false)
	wait("meeting", func() bool { _, err := s.archive.Row(t.Context(), 1); return err == nil })
	cancel()
	<-done
	if c, err := s.archive.Inbox().Counts(t.Context()); err != nil || c.Quarantined != 0 {
		t.Errorf("inbox: %+v, %v", c, err)
	}
}
