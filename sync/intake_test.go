package syncer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/internal/sqlite"
)

func deliver(t *testing.T, s *Syncer, id, body string) {
	t.Helper()
	_, err := s.archive.Inbox().Put(t.Context(), inbox.Delivery{Account: "a", WebhookID: id,
		ReceivedAt: time.Now(), SentAt: time.Now(), Body: []byte(body), Kind: inbox.KindWebhook})
	if err != nil {
		t.Fatal(err)
	}
}

const whole = `{"recording_id": %d, "title": "T", "created_at": "%s",
	"transcript": [{"speaker": {"display_name": "A"}, "text": "hello", "timestamp": "00:00:01"}],
	"default_summary": {"template_name": "G", "markdown_formatted": "done"}}`

func TestIntakeAppliesAndSettles(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	now := time.Now().UTC().Format(time.RFC3339)
	deliver(t, s, "m1", fmt.Sprintf(whole, 1, now))
	deliver(t, s, "m2", `not JSON at all`)
	deliver(t, s, "m3", `{"title": "no recording"}`)
	deliver(t, s, "m4", `{"recording_id": 2, "title": "bare", "created_at": "`+now+`"}`)
	box := s.archive.Inbox()
	if n, err := s.drainBatch(t.Context(), box); n != 4 || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	counts, err := box.Counts(t.Context())
	if err != nil || counts.Received != 0 || counts.Applied != 2 || counts.Quarantined != 2 {
		t.Errorf("inbox: %+v, %v", counts, err)
	}
	row, err := s.archive.Row(t.Context(), 1)
	if err != nil || !row.HasTranscript || !row.HasSummary {
		t.Errorf("meeting 1: %+v, %v", row, err)
	}
	// The content that the second webhook left out is requested at once, before anything else.
	a, ok := s.content.get(2)
	if !ok || !a.Urgent || !a.Transcript || !a.Summary || a.Due.After(time.Now()) {
		t.Errorf("task of meeting 2: %+v, %v", a, ok)
	}
	if _, ok := s.content.get(1); ok {
		t.Error("a whole meeting is asked for")
	}
	if _, err := s.archive.DownloadOf(t.Context(), 1); err != nil {
		t.Errorf("its recording is not queued: %v", err)
	}
}

func TestIntakeTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	deliver(t, s, "m1", fmt.Sprintf(whole, 1, "2026-05-04T10:00:00Z"))
	box := s.archive.Inbox()
	if _, err := s.drainBatch(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	before, err := s.archive.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Replay(t.Context(), 1); err != nil { // as after a crash before it was settled
		t.Fatal(err)
	}
	if n, err := s.drainBatch(t.Context(), box); n != 1 || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	after, err := s.archive.Head(t.Context())
	if err != nil || after != before {
		t.Errorf("the change log moved from %v to %v, %v", before, after, err)
	}
}

// While deliveries come thick and fast they are applied a few at a time, and all
// of them in the end.
func TestIntakeInABurst(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	box, sent := s.archive.Inbox(), 0
	for !box.Busy() {
		deliver(t, s, fmt.Sprint("m", sent), fmt.Sprintf(whole, sent+1, "2026-05-04T10:00:00Z"))
		if sent++; sent > 10_000 {
			t.Fatal("the inbox is never busy")
		}
	}
	if n, err := s.drainBatch(t.Context(), box); n != busyBatch || err != nil {
		t.Errorf("drained %d, %v; want %d", n, err, busyBatch)
	}
	for {
		n, err := s.drainBatch(t.Context(), box)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	if c, err := box.Counts(t.Context()); err != nil || c.Applied != sent {
		t.Errorf("inbox %+v, %v; want %d applied", c, err, sent)
	}
}

func TestIntakeRunsUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.runIntake(ctx) }()
	head, err := s.archive.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m1", fmt.Sprintf(whole, 1, "2026-05-04T10:00:00Z"))
	if err := s.archive.WaitChange(ctx, head); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("intake returned %v", err)
	}
}

func TestCallbacksCarryContent(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	for i, body := range []string{
		`{"recording_id": 7, "transcript": [{"speaker": {"display_name": "A"}, "text": "wrapped", "timestamp": "00:00:01"}]}`,
		`{"nothing": "here"}`,
		`{"recording_id": 8, "transcript": [{"speaker": {"display_name": "A"}, "text": "of another meeting", "timestamp": "00:00:01"}]}`,
	} {
		_, err := s.archive.Inbox().Put(t.Context(), inbox.Delivery{Account: "a", WebhookID: fmt.Sprint("c", i),
			ReceivedAt: time.Now(), Body: []byte(body), Kind: inbox.KindTranscript, RecordingID: 7})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.drainBatch(t.Context(), s.archive.Inbox()); err != nil {
		t.Fatal(err)
	}
	entries, err := s.archive.Entries(t.Context(), 7, 0, -1)
	if err != nil || len(entries) != 1 || !strings.Contains(entries[0].Text, "wrapped") {
		t.Errorf("entries %v, %v", entries, err)
	}
	counts, err := s.archive.Inbox().Counts(t.Context())
	if err != nil || counts.Quarantined != 2 {
		t.Errorf("inbox: %+v, %v", counts, err)
	}
}

// An announcement of a download is passed on where deliveries are applied one by one, too.
func TestAnnouncementsBesideABadDelivery(t *testing.T) {
	t.Parallel()
	s, task := testLoader(t, newMediaHost(t, 1), true)
	s.downloads.tasks[7] = task
	_, err := s.archive.Inbox().Put(t.Context(), inbox.Delivery{Account: "a", WebhookID: "c1", ReceivedAt: time.Now(),
		Body: []byte(`{"download_id": "d1", "recording_id": 7}`), Kind: inbox.KindDownload, RecordingID: 7})
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.archive.Inbox().Pending(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.drainSingly(t.Context(), s.archive.Inbox(), pending); n != 1 || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	if len(task.announced) != 1 {
		t.Error("the downloader was not told")
	}
}

// Good deliveries wait while the archive cannot be written, and are applied when
// it can; only one that is bad itself is quarantined. A delivery that an earlier version
// quarantined for such a reason is applied too.
func TestGoodDeliveriesWaitForTheArchive(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, db *sqlite.DB) (repair func()){
		"a full disk": func(t *testing.T, db *sqlite.DB) func() {
			limit := func(pages string) {
				if _, err := db.W.Exec(`PRAGMA max_page_count = ` + pages); err != nil {
					t.Fatal(err)
				}
			}
			limit("1") // as many as there are
			return func() { limit("1000000000") }
		},
		"a foreign lock": func(t *testing.T, db *sqlite.DB) func() {
			if _, err := db.W.Exec(`PRAGMA busy_timeout = 1`); err != nil {
				t.Fatal(err)
			}
			other, err := sql.Open("sqlite3", "file:"+db.Path+"?_txlock=immediate")
			if err != nil {
				t.Fatal(err)
			}
			tx, err := other.Begin()
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := testLoader(t, newMediaHost(t, 1), true)
			box := s.archive.Inbox()
			longLine := strings.Replace(whole, "hello", strings.Repeat("hello, ", 10_000), 1)
			now := time.Now().UTC().Format(time.RFC3339)
			deliver(t, s, "m1", fmt.Sprintf(longLine, 1, now))
			deliver(t, s, "m2", fmt.Sprintf(longLine, 2, now))
			repair := fault(t, s.archive.DB())
			for range 2 {
				if _, err := s.drainBatch(t.Context(), box); err == nil {
					t.Fatal("deliveries are applied though the archive cannot be written")
				}
			}
			if c, err := box.Counts(t.Context()); err != nil || c.Received != 2 || c.Quarantined != 0 {
				t.Errorf("inbox: %+v, %v", c, err)
			}
			repair()
			if err := box.Quarantine(t.Context(), 1, "apply observation of 1: the disk is full: make room in the data directory"); err != nil {
				t.Fatal(err)
			}
			deliver(t, s, "m3", `{"title": "no recording"}`)
			if err := s.settleQuarantine(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.drainBatch(t.Context(), box); err != nil {
				t.Fatal(err)
			}
			if err := s.settleQuarantine(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c, err := box.Counts(t.Context()); err != nil || c.Applied != 2 || c.Quarantined != 1 {
				t.Errorf("afterwards: %+v, %v", c, err)
			}
		})
	}
}

// A meeting that says to be of a year that cannot be written, once it is in UTC,
// is taken as one without that time.
func TestIntakeTakesTimesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	deliver(t, s, "m1", `{"recording_id": 1, "title": "late", "created_at": "9999-12-31T23:59:59-01:00"}`)
	deliver(t, s, "m2", `{"recording_id": 2, "title": "early", "created_at": "0000-01-01T00:00:00+01:00"}`)
	if n, err := s.drainBatch(t.Context(), s.archive.Inbox()); n != 2 || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	for id := range int64(2) {
		if a, ok := s.content.get(id + 1); !ok || time.Since(a.Created).Abs() > time.Hour {
			t.Errorf("task of meeting %d: %+v, %v", id+1, a, ok)
		}
	}
}
