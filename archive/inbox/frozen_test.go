package inbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"minutebook/internal/sqlite/frozen"
)

// TestEveryFrozenInboxIsUpgraded opens inboxes as earlier versions left them: the schema is
// then that of a new inbox, each acknowledged delivery is there and is a duplicate when it is
// sent again, and secrets still verify.
func TestEveryFrozenInboxIsUpgraded(t *testing.T) {
	fresh := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{})
	frozen.Each(t, func(t *testing.T, file, dir string) {
		i := openInbox(t, filepath.Join(dir, "inbox.db"), Options{})
		frozen.Compare(t, file, i.db, fresh.db)
		all, err := i.List(t.Context(), Query{})
		if err != nil || len(all) != 3 {
			t.Fatalf("%d deliveries, %v", len(all), err)
		}
		for _, d := range all {
			if !put(t, i, delivery(d.Account, d.WebhookID, "{}")) {
				t.Errorf("%s is taken for a new one", d.WebhookID)
			}
			whole, err := i.Delivery(t.Context(), d.ID)
			if err != nil || int64(len(whole.Body)) != d.Size || whole.Header.Get("Content-Type") == "" {
				t.Errorf("%s: %+v, %v", d.WebhookID, whole, err)
			}
		}
		waiting := pendingIDs(t, i)
		if len(waiting) != 1 {
			t.Errorf("%v wait", waiting)
		}
		if _, err := i.CheckBodies(t.Context(), func(d DamagedBody) { t.Errorf("damaged: %+v", d) }); err != nil {
			t.Error(err)
		}
	})
}

// TestAnInboxOfTheFirstSchema has bodies that were packed, and a webhook's secret.
func TestAnInboxOfTheFirstSchema(t *testing.T) {
	i := openInbox(t, filepath.Join(frozen.Directory(t, "1"), "inbox.db"), Options{})
	for n, id := range []string{"msg_1", "msg_2", "msg_3"} {
		if d, err := i.Delivery(t.Context(), int64(n+1)); err != nil || d.WebhookID != id || string(d.Body) != frozenMeeting(id) {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
	if secrets, err := i.Secrets(t.Context(), "main"); err != nil || len(secrets) != 1 {
		t.Errorf("%d secrets, %v", len(secrets), err)
	}
}

// TestAnInboxOfTheFirstRelease has deliveries in all states, an address that the service was
// given for an answer, and webhooks of two accounts.
func TestAnInboxOfTheFirstRelease(t *testing.T) {
	i := openInbox(t, filepath.Join(frozen.Directory(t, "0.9.0"), "inbox.db"), Options{Now: func() time.Time { return time.Date(2026, 2, 27, 14, 0, 0, 0, time.UTC) }})
	if got := pendingIDs(t, i); !slices.Equal(got, []string{"msg_waits"}) {
		t.Errorf("%v wait", got)
	}
	if counts, err := i.Counts(t.Context()); err != nil || counts != (Counts{Received: 1, Applied: 1, Quarantined: 1}) {
		t.Errorf("counts %+v, %v", counts, err)
	}
	if d, err := i.Delivery(t.Context(), 2); err != nil || d.WebhookID != "msg_not_understood" || d.Reason != "it is no JSON" || string(d.Body) != `{"recording_id": "seven"` {
		t.Errorf("in quarantine: %+v, %v", d, err)
	}
	if c, err := i.Callback(t.Context(), KindDownload, "NYDY3Vx1ANvXMTq-LKFabnmoGN4tX16WkRNM_Oqa4E4"); err != nil || c.Account != "maren" || c.RecordingID != 469234221 {
		t.Errorf("callback %+v, %v", c, err)
	}
	if secrets, err := i.Secrets(t.Context(), "maren"); err != nil || !slices.Equal(secrets, []string{"whsec_1jMQY6mGfDT2G51K7rRT0rbBzH8c5z7jTpJgbG5qrtM="}) {
		t.Errorf("secrets of maren %v, %v", secrets, err)
	}
	orphans, err := i.Registrations(t.Context(), "priya")
	if err != nil || len(orphans) != 1 || orphans[0].State != RegistrationIntent {
		t.Errorf("registrations of priya %+v, %v", orphans, err)
	}
}

// frozenMeeting is the body of a delivery of the inbox of the first schema.
func frozenMeeting(text string) string {
	return fmt.Sprintf(`{"title": "T", "recording_id": 7, "recording_start_time": "2026-02-01T10:00:00Z",
		"created_at": "2026-02-01T11:00:05Z", "calendar_invitees": [{"name": "Ann", "email": "ann@example.com", "is_external": false}],
		"recorded_by": {"name": "Bob", "email": "bob@example.com", "email_domain": "example.com", "team": "Sales"},
		"transcript": [{"speaker": {"display_name": "Ann", "matched_calendar_invitee_email": "ann@example.com"}, "text": %q, "timestamp": "00:00:01"},
			{"speaker": {"display_name": "Bob"}, "text": "Yes, \u00fc.", "timestamp": "00:01:02", "unknown": 1.50}],
		"default_summary": {"template_name": "General", "markdown_formatted": "# T"},
		"action_items": [{"description": "Call", "recording_timestamp": "00:00:30", "assignee": null}],
		"highlights": null, "crm_matches": {"contacts": [{"name": "Cy"}]}, "later_key": {"a": [1, 2]}}`, text)
}
