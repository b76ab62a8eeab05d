// Package archivetest makes archives for the tests of the packages above the
// archive.
package archivetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/sqlite"
	"minutebook/sample"
)

// Epoch is the time at which the clocks of new archives stand.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns an empty archive in a directory of its own.
func New(t testing.TB) *archive.Archive {
	t.Helper()
	return Open(t, Dir(t))
}

// Open opens the archive in a directory, or makes one; the test closes it.
func Open(t testing.TB, dir string) *archive.Archive {
	t.Helper()
	return OpenAt(t, dir, func() time.Time { return Epoch })
}

// OpenAt is [Open] with another clock.
func OpenAt(t testing.TB, dir string, now func() time.Time) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	KeepOpen(a)
	return a
}

// KeepOpen has the connections of an archive's databases stay open while it does: in virtual
// time they would be idle long enough to be closed between any two calls.
func KeepOpen(a *archive.Archive) {
	for _, db := range a.Databases() {
		db.W.SetConnMaxIdleTime(0)
		db.R.SetConnMaxIdleTime(0)
	}
}

// Sample returns an archive of the meetings of package sample: a copy of one that
// the process makes once.
func Sample(t testing.TB) *archive.Archive {
	t.Helper()
	sampleOnce.Do(func() {
		dir := t.TempDir()
		a := Open(t, dir)
		Apply(t, a, Epoch, sample.All()...)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		sampleFiles = Tree(t, dir)
	})
	return Open(t, copyTree(t, sampleFiles))
}

// WithMeetings returns an archive of n small meetings, from 1.
func WithMeetings(t testing.TB, n int64) *archive.Archive {
	t.Helper()
	a := New(t)
	for id := range n {
		Apply(t, a, Epoch, Meeting(id+1, "T", "said"))
	}
	return a
}

// Apply applies meetings as lists show them that were read at a time.
func Apply(t testing.TB, a *archive.Archive, at time.Time, meetings ...json.RawMessage) {
	t.Helper()
	var batch []archive.Observation
	for _, raw := range meetings {
		o, err := archive.FromMeeting("main", archive.SourceList, at, raw)
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, o)
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// Meeting is a small whole meeting of Ann and Bob.
func Meeting(id int64, title, text string) []byte {
	return fmt.Appendf(nil, `{"title": %q, "recording_id": %d, "recording_start_time": "2026-02-01T10:00:00Z",
		"created_at": "2026-02-01T11:00:05Z", "calendar_invitees": [{"name": "Ann", "email": "ann@example.com", "is_external": false}],
		"recorded_by": {"name": "Bob", "email": "bob@example.com", "email_domain": "example.com", "team": "Sales"},
		"transcript": [{"speaker": {"display_name": "Ann", "matched_calendar_invitee_email": "ann@example.com"}, "text": %q, "timestamp": "00:00:01"},
			{"speaker": {"display_name": "Bob"}, "text": "Yes, \u00fc.", "timestamp": "00:01:02", "unknown": 1.50}],
		"default_summary": {"template_name": "General", "markdown_formatted": "# %s"},
		"action_items": [{"description": "Call", "recording_timestamp": "00:00:30", "assignee": null}],
		"highlights": null, "crm_matches": {"contacts": [{"name": "Cy"}]}, "later_key": {"a": [1, 2]}}`, title, id, text, title)
}

// Attach attaches a recording to a meeting.
func Attach(t testing.TB, a *archive.Archive, id int64, content string) media.Blob {
	t.Helper()
	b, err := a.Media().Put(t.Context(), strings.NewReader(content))
	if err == nil {
		err = a.AttachMedia(t.Context(), id, archive.MediaVideo, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Quarantine has a delivery wait in quarantine.
func Quarantine(t testing.TB, a *archive.Archive, d inbox.Delivery, reason string) {
	t.Helper()
	_, err := a.Inbox().Put(t.Context(), d)
	if err == nil {
		d, err = a.Inbox().DeliveryOf(t.Context(), d.Account, d.WebhookID)
	}
	if err == nil {
		err = a.Inbox().Quarantine(t.Context(), d.ID, reason)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Tree returns the files below a directory: path to content.
func Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Exists reports whether there is a file.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Damage changes a database behind the archive's back.
func Damage(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := sqlite.Connect(path, "?_foreign_keys=0&_busy_timeout=5000", nil)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
