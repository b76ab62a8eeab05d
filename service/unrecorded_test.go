package service

import (
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// lines passes on each line of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// newUnrecorded is a sandbox with a delivery that is due, in which no outcome can be
// recorded until mend is called. failed returns once a recording has failed.
func newUnrecorded(t *testing.T) (s *sandbox, in *inbox, failed, mend func()) {
	t.Helper()
	s = newSandbox(t, Options{Hold: 1}, meeting(1))
	in = newInbox(t, nil)
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := make(lines, 1000)
	s.log = zerolog.New(log)
	s.exec(`CREATE TRIGGER fails BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'no room'); END`)
	failed = func() {
		for line := range log {
			if strings.Contains(line, "no room") {
				return
			}
		}
	}
	return s, in, failed, func() { s.exec(`DROP TRIGGER fails`) }
}

// exec changes the service's database.
func (s *sandbox) exec(query string) {
	s.t.Helper()
	if _, err := s.store.db.W.ExecContext(s.t.Context(), query); err != nil {
		s.t.Fatal(err)
	}
}

// An outcome that cannot be recorded is recorded later. The delivery is not sent again.
func TestADeliveryIsSentOnceWhileItsOutcomeCannotBeRecorded(t *testing.T) {
	s, in, failed, mend := newUnrecorded(t)
	due := s.dueNow()
	done := make(chan error, 1)
	go func() { done <- s.attempt(t.Context(), &due[0]) }()
	for range 2 {
		failedOrDone := make(chan struct{})
		go func() { failed(); close(failedOrDone) }()
		select {
		case err := <-done:
			t.Fatalf("gave up: %v", err)
		case <-failedOrDone:
		}
	}
	mend()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	list, err := s.Deliveries(t.Context(), "", 10)
	if err != nil || len(list) != 1 || list[0].State != "done" || list[0].Attempts != 1 {
		t.Errorf("in the end: %+v, %v", list, err)
	}
	if in.next(t); len(in.got) != 0 {
		t.Errorf("sent %d times more", len(in.got))
	}
}

// A wait for a recording ends with the work of the queue, which begins again after a failed
// read, and with the program.
func TestAWaitForARecordingEndsWithTheQueue(t *testing.T) {
	for name, end := range map[string]func(s *sandbox, cancel func()){
		"failed read": func(s *sandbox, _ func()) {
			s.exec(`ALTER TABLE deliveries RENAME TO away`)
			s.wakeSender()
		},
		"end of the program": func(_ *sandbox, cancel func()) { cancel() },
	} {
		s, _, failed, _ := newUnrecorded(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.sendQueue(ctx) }()
		failed()
		end(s, cancel)
		if err := <-done; err == nil {
			t.Errorf("%s: the queue ended without an error", name)
		}
		cancel()
	}
}

func TestAWaitForARecordingEndsWhenItsMeetingIsForgotten(t *testing.T) {
	s, _, failed, mend := newUnrecorded(t)
	due := s.dueNow()
	done := make(chan error, 1)
	go func() { done <- s.attempt(t.Context(), &due[0]) }()
	failed()
	if err := s.transfers.stop(t.Context(), due[0].recordingID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	mend()
	if due := s.dueNow(); len(due) != 1 {
		t.Errorf("%d are due; want the delivery without an outcome", len(due))
	}
}
