package receiver

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
)

// The way of a delivery after its acknowledgement: read from the inbox, applied,
// settled. Each step fails once, before and after it took effect, which is to
// say that the process ends there; its repetition changes nothing.
func TestFaultsAfterTheAcknowledgement(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, c := range []struct {
		name    string
		applied bool // the archive had it before the fault
		step    inbox.Step
		done    bool // the step took effect
	}{
		{"before apply", false, "", false},
		{"after apply, before settling begins", true, inbox.StepBegin, false},
		{"settling begun", true, inbox.StepBegin, true},
		{"before the update", true, inbox.StepInsert, false},
		{"after the update", true, inbox.StepInsert, true},
		{"before the commit", true, inbox.StepCommit, false},
		{"after the commit", true, inbox.StepCommit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			putAndStop(t, dir, c.applied, c.step, c.done)
			settled(t, dir, func(p *parts) { checkDelivered(t, p, 7) })
			settled(t, dir, func(p *parts) { checkDelivered(t, p, 7) })
		})
	}
}

// putAndStop delivers meeting 7 and goes as far as the fault.
func putAndStop(t *testing.T, dir string, apply bool, step inbox.Step, done bool) {
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	d := inbox.Delivery{Account: "anna", WebhookID: "msg_7", Body: crashBody(7)}
	if _, err := a.Inbox().Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	waiting, err := a.Inbox().Pending(t.Context(), 1)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%d wait, %v", len(waiting), err)
	}
	if apply {
		o, err := archive.FromDelivery(waiting[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if step == "" {
		return
	}
	var failed atomic.Bool
	i, err := inbox.Open(t.Context(), filepath.Join(dir, "inbox.db"), inbox.Options{
		Fault: func(s inbox.Step, d bool) error {
			if s == step && d == done {
				failed.Store(true)
				return errors.New("injected")
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Settle(t.Context(), inbox.Outcome{ID: waiting[0].ID, RecordingID: 7}); err == nil || !failed.Load() {
		t.Errorf("settling: %v, want the fault", err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
}
