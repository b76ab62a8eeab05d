package service

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
)

// TestGoneDisablesAtOnce answers 410 Gone once: nothing more is sent there, the list and
// the state say why, and a person enables the webhook again.
func TestGoneDisablesAtOnce(t *testing.T) {
	s := newSandbox(t, Options{Hold: 3}, meeting(1), meeting(2), meeting(3))
	in := newInbox(t, func(n int) int { return []int{410, 200}[min(n-1, 1)] })
	hook := s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	finish := func() {
		t.Helper()
		if _, _, err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	finish()
	finish()
	first := s.dueNow()[0]
	if err := s.attempt(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	s.clock.add(24 * time.Hour)
	if due := s.dueNow(); len(due) != 0 {
		t.Errorf("%d are still to be sent", len(due))
	}
	state, err := s.State(t.Context())
	if err != nil || len(state.Disabled) != 1 || state.Disabled[0].ID != hook.ID || !strings.Contains(state.Disabled[0].Reason, "410") {
		t.Fatalf("the state is %+v, %v", state, err)
	}
	if err := s.EnableWebhook(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.EnableWebhook(t.Context(), hook.ID); err == nil {
		t.Error("an active webhook was enabled")
	}
	finish()
	due := s.dueNow()
	if len(due) != 1 || due[0].recordingID != 3 {
		t.Fatalf("due after it was enabled: %+v", due)
	}
	if err := s.attempt(t.Context(), &due[0]); err != nil {
		t.Fatal(err)
	}
	if state, err := s.State(t.Context()); err != nil || len(state.Disabled) != 0 {
		t.Errorf("the state is %+v, %v", state, err)
	}
}

// TestGoneEndsACallback answers 410 Gone to content that was asked for.
func TestGoneEndsACallback(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	in := newInbox(t, func(int) int { return http.StatusGone })
	s.get("/recordings/1/summary?destination_url="+in.URL, s.admin, 200)
	due := s.dueNow()
	if err := s.attempt(t.Context(), &due[0]); err != nil {
		t.Fatal(err)
	}
	list, err := s.Deliveries(t.Context(), "", 10)
	if err != nil || len(list) != 1 || list[0].State != "failed" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestEnablingSendsNoHistory edits the summary of a meeting that came while the
// webhook was disabled.
func TestEnablingSendsNoHistory(t *testing.T) {
	a := openTestArchive(t, ArchiveDir(t))
	s := newSandbox(t, Options{Archive: a})
	s.hookOf("ann@acme.example")
	arrive(t, a, archive.SourceList, delivered(9)) // since when the account is read
	s.caughtUp(t)
	if _, err := s.store.db.W.ExecContext(t.Context(), `UPDATE webhooks SET disabled_at = 1, reason = 'gone'`); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, newer(10, recordedBy("ann", "Support")...))
	s.caughtUp(t)
	s.clock.add(20 * time.Hour)
	hooks, err := s.Hooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnableWebhook(t.Context(), hooks[0].ID); err != nil {
		t.Fatal(err)
	}
	edited := append(recordedBy("ann", "Support"), "default_summary", `{"template_name": "General", "markdown_formatted": "another"}`)
	arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(10, edited...))
	s.caughtUp(t)
	if got := s.queued(); strings.Contains(got, "10") {
		t.Errorf("sent %q", got)
	}
}

// TestAnybodysWebhookIsDeleted deletes a webhook with a waiting delivery, as one that a backup
// brought back: it is sent nothing any more, and is there no second time.
func TestAnybodysWebhookIsDeleted(t *testing.T) {
	a := openTestArchive(t, ArchiveDir(t))
	s := newSandbox(t, Options{Archive: a})
	s.hookOf("ann@acme.example")
	arrive(t, a, archive.SourceList, delivered(9))
	s.caughtUp(t)
	arrive(t, a, archive.SourceList, newer(10, recordedBy("ann", "Support")...))
	s.caughtUp(t)
	hooks, err := s.Hooks(t.Context())
	if err != nil || len(hooks) != 1 || !strings.Contains(s.queued(), "10") {
		t.Fatalf("%+v, queued %s, %v", hooks, s.queued(), err)
	}
	if err := s.DeleteWebhook(t.Context(), hooks[0].ID); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Hooks(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("left are %+v, %v", left, err)
	}
	if waiting, err := s.Deliveries(t.Context(), "pending", 10); err != nil || len(waiting) != 0 {
		t.Errorf("waiting are %+v, %v", waiting, err)
	}
	if err := s.DeleteWebhook(t.Context(), hooks[0].ID); err == nil || !strings.Contains(err.Error(), "webhooks list") {
		t.Errorf("deleted again: %v", err)
	}
}

// TestAQuietWeekIsNoFailure lets every attempt of one meeting fail, has no meetings for a
// week, and then lets one attempt fail: the webhook has not failed for five days.
func TestAQuietWeekIsNoFailure(t *testing.T) {
	s := newSandbox(t, Options{Hold: 2}, meeting(1), meeting(2))
	in := newInbox(t, func(int) int { return 500 })
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	finish := func() {
		t.Helper()
		if _, _, err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	attempt := func() {
		t.Helper()
		due := s.dueNow()
		if len(due) != 1 {
			t.Fatalf("due: %+v", due)
		}
		if err := s.attempt(t.Context(), &due[0]); err != nil {
			t.Fatal(err)
		}
	}
	finish()
	for failed := range 8 {
		wait, _ := retryDelay(failed)
		s.clock.add(wait)
		attempt()
	}
	s.clock.add(7 * 24 * time.Hour)
	finish()
	attempt()
	hooks, err := s.Hooks(t.Context())
	if err != nil || !hooks[0].DisabledAt.IsZero() || !hooks[0].FailingSince.Equal(s.clock.Now()) {
		t.Errorf("%+v, %v", hooks, err)
	}
	list, err := s.Deliveries(t.Context(), "pending", 10)
	if err != nil || len(list) != 1 || list[0].RecordingID != 2 {
		t.Errorf("pending: %+v, %v", list, err)
	}
}
