package inbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestAReaderOfTheLogDelaysNoDelivery has a backup read the inbox while a delivery
// about a forgotten meeting is settled. Others are acknowledged meanwhile, and once the
// backup ends, nothing of the forgotten one remains.
func TestAReaderOfTheLogDelaysNoDelivery(t *testing.T) {
	const word = "Xylophonist"
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openInbox(t, path, Options{IsForgotten: func(_ context.Context, id int64) (bool, error) { return id == 7, nil }})
	put(t, i, delivery("main", "msg_0", `{}`))
	reader, err := i.db.R.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback()
	var n int
	if err := reader.QueryRow(`SELECT count(*) FROM deliveries`).Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	put(t, i, delivery("main", "msg_1", `{"recording_id":7,"title":"`+strings.Repeat(word, 100)+`"}`))
	pending, err := i.Pending(t.Context(), 9)
	if err != nil || len(pending) != 2 {
		t.Fatal(pending, err)
	}
	if err := i.Settle(t.Context(), Outcome{ID: pending[1].ID, RecordingID: 7}); err != nil {
		t.Fatal(err)
	}
	put(t, i, delivery("main", "msg_2", `{}`))
	if !anyFileContains(t, path, word) {
		t.Fatal("the log is empty: the reader does not pin it")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	for n := 0; anyFileContains(t, path, word); n++ {
		if n == 200 {
			t.Fatal("the log still holds the delivery")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// anyFileContains reports whether a word is in the inbox's file or its log.
func anyFileContains(t *testing.T, path, word string) bool {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), word) {
			return true
		}
	}
	return false
}

// TestNothingOfAForgottenRecordingStaysInQuarantine has a delivery about a forgotten recording
// that cannot be applied: the archive cannot be asked at first, the program is killed before it
// asks, the address was given for another recording, or an earlier version left the delivery.
func TestNothingOfAForgottenRecordingStaysInQuarantine(t *testing.T) {
	const word = "zebrafish"
	var known, away atomic.Bool // the archive knows recording 42 as forgotten; it cannot be asked
	o := Options{IsForgotten: func(_ context.Context, id int64) (bool, error) {
		if away.Load() {
			return false, errors.New("database is locked")
		}
		return id == 42 && known.Load(), nil
	}}
	settle := func(t *testing.T, i *Inbox) error {
		t.Helper()
		pending, err := i.Pending(t.Context(), 1)
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		return i.Settle(t.Context(), Outcome{ID: pending[0].ID, RecordingID: pending[0].RecordingID, Quarantine: "not understood"})
	}
	for name, c := range map[string]struct {
		given int64 // the recording for which the address was given
		run   func(t *testing.T, i *Inbox) error
	}{
		"not asked at first": {42, func(t *testing.T, i *Inbox) error {
			away.Store(true)
			defer away.Store(false)
			if settle(t, i) == nil {
				t.Error("settled without the archive")
			}
			away.Store(false)
			return settle(t, i)
		}},
		"killed": {42, func(t *testing.T, i *Inbox) error {
			path := i.Path()
			return errors.Join(i.Close(), settle(t, openInbox(t, path, o)))
		}},
		"to another address": {41, settle},
		"damaged": {0, func(t *testing.T, i *Inbox) error {
			if _, err := i.db.ExecContext(t.Context(), `UPDATE deliveries SET checksum = 0`); err != nil {
				return err
			}
			return settle(t, i)
		}},
		"to another address, forgotten later": {41, func(t *testing.T, i *Inbox) error {
			known.Store(false)
			if err := settle(t, i); err != nil {
				return err
			}
			if about, err := ReadRecordingIDs(t.Context(), i.db.R); err != nil || !slices.Equal(about, []int64{41, 42}) {
				t.Errorf("about %v, %v", about, err)
			}
			_, err := i.ForgetRecording(t.Context(), 42)
			return err
		}},
		"of an earlier version": {42, func(t *testing.T, i *Inbox) error {
			known.Store(false)
			if err := settle(t, i); err != nil {
				return err
			}
			known.Store(true)
			return i.DropForgotten(t.Context())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			known.Store(true)
			path := filepath.Join(t.TempDir(), "inbox.db")
			i := openInbox(t, path, o)
			put(t, i, Delivery{Account: "a", Kind: KindTranscript, WebhookID: "k.unread", RecordingID: c.given, Body: []byte(`{"recording_id":42,"words":"` + word)})
			if err := c.run(t, i); err != nil {
				t.Fatal(err)
			}
			if anyFileContains(t, path, word) {
				t.Error("the inbox still has its words")
			}
		})
	}
}
