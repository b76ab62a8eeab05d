package receiver

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
)

// failAt returns a fault that happens once, at one step.
func failAt(step inbox.Step, done bool) (func(inbox.Step, bool) error, *atomic.Bool) {
	var failed atomic.Bool
	return func(s inbox.Step, d bool) error {
		if s == step && d == done && failed.CompareAndSwap(false, true) {
			return errors.New("injected")
		}
		return nil
	}, &failed
}

// The way of a delivery to its acknowledgement: each step of the commit fails
// once, before and after it took effect. The sender is told to come again, and
// whatever was kept, the delivery is there once in the end, also after a restart.
func TestFaultsBeforeTheAcknowledgement(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, c := range []struct {
		step inbox.Step
		done bool
		kept bool // though the sender was told that it was not
	}{
		{inbox.StepBegin, false, false}, {inbox.StepBegin, true, false},
		{inbox.StepInsert, false, false}, {inbox.StepInsert, true, false},
		{inbox.StepCommit, false, false}, {inbox.StepCommit, true, true},
	} {
		t.Run(fmt.Sprintf("%s done=%v", c.step, c.done), func(t *testing.T) {
			dir := archiveDir(t)
			fault, failed := failAt(c.step, c.done)
			r := startOn(t, filepath.Join(dir, "inbox.db"), inbox.Options{Fault: fault}, Options{})
			got := send(t, signedRequest(t, r.url, "anna", secretA, "msg_7", time.Now(), crashBody(7)))
			if got.status != 503 || got.header.Get("Retry-After") == "" || !failed.Load() {
				t.Fatalf("status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
			}
			if n := len(r.pending(t)); n != map[bool]int{true: 1}[c.kept] {
				t.Errorf("%d are kept after the fault", n)
			}
			sentAgain(t, r, c.kept)
			settledTwice(t, r, dir)
		})
	}
}

// sentAgain delivers meeting 7 once more, which is right and done.
func sentAgain(t *testing.T, r *running, duplicate bool) {
	t.Helper()
	if got := r.deliver(t, "msg_7", string(crashBody(7))); got != 200 {
		t.Errorf("the repeat: %d", got)
	}
	if c := r.Counts(); c.Duplicates != map[bool]int64{true: 1}[duplicate] {
		t.Errorf("counts %+v; a duplicate: %v", c, duplicate)
	}
	if n := len(r.pending(t)); n != 1 {
		t.Errorf("%d are kept, want 1", n)
	}
}

// settledTwice restarts as often and finds meeting 7 applied once and searchable.
func settledTwice(t *testing.T, r *running, dir string) {
	t.Helper()
	r.stop()
	if err := r.inbox.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		settled(t, dir, func(p *parts) { checkDelivered(t, p, 7) })
	}
}

// The connection is lost while the body is read, and after that: a body that had come
// whole is kept although nobody was told.
func TestFaultsOfReadingTheBody(t *testing.T) {
	for _, complete := range []bool{false, true} {
		t.Run(fmt.Sprintf("whole=%v", complete), func(t *testing.T) {
			dir := archiveDir(t)
			gate, reached := make(chan struct{}), make(chan struct{}, 100)
			open := sync.OnceFunc(func() { close(gate) })
			r := startOn(t, filepath.Join(dir, "inbox.db"), inbox.Options{
				Fault: func(s inbox.Step, done bool) error {
					if s == inbox.StepCommit && !done {
						reached <- struct{}{}
						<-gate
					}
					return nil
				}}, Options{})
			t.Cleanup(open)
			body := crashBody(7)
			req := signedRequest(t, r.url, "anna", secretA, "msg_7", time.Now(), body)
			c := raw(t, r.addr, fmt.Sprintf("POST /webhooks/anna HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n", len(body)))
			if err := req.Header.Write(c); err != nil {
				t.Fatal(err)
			}
			part := body[:len(body)/2]
			if complete {
				part = body
			}
			fmt.Fprintf(c, "\r\n%s", part)
			if complete {
				<-reached
			}
			c.Close()
			waitFor(t, func() bool { return complete || r.Counts().Refused[400] == 1 })
			open()
			waitFor(t, func() bool { return len(r.pending(t)) == 1 || !complete })
			sentAgain(t, r, complete)
			settledTwice(t, r, dir)
		})
	}
}

// A commit that takes too long is 503 to its sender, and so is a delivery that comes while
// as much waits as may, before its body is read. The slow commit counts all the
// same: its repeat is known.
func TestASlowWriterIs503(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	r := startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{MaxWaiting: 1000,
		Fault: func(inbox.Step, bool) error { <-gate; return nil }}, Options{CommitTime: time.Second})
	t.Cleanup(open)
	got := send(t, signedRequest(t, r.url, "anna", secretA, "msg_1", time.Now(), []byte(meeting)))
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("a commit that takes too long: %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	c := raw(t, r.addr, head("Expect: 100-continue\r\nContent-Length: 1000"))
	if got := statusOf(t, c); got != 503 {
		t.Errorf("behind it: %d, want 503 and no 100", got)
	}
	open()
	waitFor(t, func() bool { return len(r.pending(t)) == 1 && !r.inbox.Behind(1) })
	if got := r.deliver(t, "msg_1", meeting); got != 200 || r.Counts().Duplicates != 1 {
		t.Errorf("its repeat: %d, counts %+v", got, r.Counts())
	}
}

// Two ids for one meeting are two observations of it.
func TestOneMeetingUnderTwoIDs(t *testing.T) {
	dir := archiveDir(t)
	r := startOn(t, filepath.Join(dir, "inbox.db"), inbox.Options{}, Options{})
	for id, more := range map[string]string{"msg_7": "", "msg_8": `,"default_summary":{"template_name":"G","markdown_formatted":"we decided"}`} {
		body := crashBody(7)
		if got := r.deliver(t, id, string(body[:len(body)-1])+more+"}"); got != 200 {
			t.Fatalf("%s: %d", id, got)
		}
	}
	if c := r.Counts(); c.Accepted != 2 {
		t.Errorf("counts %+v", c)
	}
	r.stop()
	if err := r.inbox.Close(); err != nil {
		t.Fatal(err)
	}
	settled(t, dir, func(p *parts) {
		counts, err := p.archive.Inbox().Counts(t.Context())
		if err != nil || counts.Applied != 2 {
			t.Errorf("inbox %+v, %v", counts, err)
		}
		row, err := p.archive.Row(t.Context(), 7)
		if err != nil || !row.HasTranscript || !row.HasSummary {
			t.Errorf("the meeting is %+v, %v", row, err)
		}
		if all, err := p.archive.Counts(t.Context()); err != nil || all.Meetings != 1 {
			t.Errorf("%d meetings, %v", all.Meetings, err)
		}
	})
}
