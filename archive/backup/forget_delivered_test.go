package backup

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
)

// TestForgetNamesABackupOfADelivery forgets a meeting that a backup has in its inbox alone: the
// delivery waited, was quarantined, or was applied after the backup.
func TestForgetNamesABackupOfADelivery(t *testing.T) {
	body := archivetest.Meeting(7, "Secret", "zebrafish")
	for name, c := range map[string]struct {
		before, after func(*testing.T, *archive.Archive)
	}{
		"received": {},
		"quarantined": {before: func(t *testing.T, a *archive.Archive) {
			must(t, a.Inbox().Quarantine(t.Context(), 1, "not understood"))
		}},
		"applied later": {after: func(t *testing.T, a *archive.Archive) {
			archivetest.Apply(t, a, archivetest.Epoch, body)
			must(t, a.Inbox().Settle(t.Context(), inbox.Outcome{ID: 1, RecordingID: 7}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, dest := archivetest.New(t), t.TempDir()
			_, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "m", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: body})
			must(t, err)
			if c.before != nil {
				c.before(t, a)
			}
			r := backUp(t, a, dest, Options{})
			if c.after != nil {
				c.after(t, a)
			}
			f, err := a.Forget(t.Context(), 7, "asked for")
			must(t, err)
			g, err := generation.Find(t.Context(), dest, r.Generation)
			must(t, err)
			if !bytes.Contains(inboxIn(t, g), []byte("zebrafish")) || !slices.Equal(f.Backups, []string{g.Path()}) {
				t.Errorf("%s holds its words, and forget names %q", g.Path(), f.Backups)
			}
		})
	}
}

// inboxIn returns the plain bytes of the inbox.db of a generation.
func inboxIn(t *testing.T, g generation.Generation) []byte {
	t.Helper()
	for _, f := range g.Files {
		if strings.Contains(f.Path, "inbox.db") {
			r, err := g.Open(t.Context(), f, nil)
			must(t, err)
			defer r.Close()
			raw, err := io.ReadAll(r)
			must(t, err)
			return raw
		}
	}
	t.Fatal("no inbox.db")
	return nil
}
