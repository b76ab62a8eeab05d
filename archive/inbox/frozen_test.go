package inbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/sqlite"
)

// readSchema returns the schema of an inbox.
func readSchema(t *testing.T, i *Inbox) []string {
	t.Helper()
	schema, err := sqlite.Column[string](t.Context(), i.db.R,
		`SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestEveryFrozenInboxIsUpgraded opens inboxes as each frozen version left them, in
// testdata/schemas as SQL: the schema is then that of a new inbox, each
// acknowledged delivery is there and is a duplicate when it is sent again, and secrets
// still verify.
func TestEveryFrozenInboxIsUpgraded(t *testing.T) {
	want := readSchema(t, openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{}))
	files, err := filepath.Glob("testdata/schemas/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("frozen schemas: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			i := openFrozen(t, file)
			if diff := cmp.Diff(want, readSchema(t, i)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"msg_3"}, pendingIDs(t, i)); diff != "" {
				t.Error(diff)
			}
			for n, id := range []string{"msg_1", "msg_2", "msg_3"} {
				if !put(t, i, delivery("main", id, "{}")) {
					t.Errorf("%s is taken for a new one", id)
				}
				if d, err := i.Delivery(t.Context(), int64(n+1)); err != nil || string(d.Body) != frozenMeeting(id) || d.Header.Get("Content-Type") == "" {
					t.Errorf("%s: %+v, %v", id, d, err)
				}
			}
			if secrets, err := i.Secrets(t.Context(), "main"); err != nil || len(secrets) != 1 {
				t.Errorf("%d secrets, %v", len(secrets), err)
			}
		})
	}
}

// openFrozen opens an inbox made of the SQL of a frozen one.
func openFrozen(t *testing.T, file string) *Inbox {
	t.Helper()
	frozen, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "inbox.db")
	db := sqlite.Connect(path, "", nil)
	_, err = db.Exec(string(frozen))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return openInbox(t, path, Options{})
}

// frozenMeeting is the body of a delivery of the frozen inbox.
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
