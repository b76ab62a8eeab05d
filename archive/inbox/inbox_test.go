package inbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openInbox(t *testing.T, path string, opts Options) *Inbox {
	t.Helper()
	opts.Create = true
	i, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

func delivery(account, id, body string) Delivery {
	return Delivery{Account: account, WebhookID: id, Body: []byte(body)}
}

func put(t *testing.T, i *Inbox, d Delivery) (duplicate bool) {
	t.Helper()
	duplicate, err := i.Put(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return duplicate
}

func pendingIDs(t *testing.T, i *Inbox) []string {
	t.Helper()
	ds, err := i.Pending(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, d := range ds {
		ids = append(ids, d.WebhookID)
	}
	return ids
}

func TestKeepsDeliveryAcrossReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?#%41 name.db")
	i := openInbox(t, path, Options{})
	long := fmt.Sprintf(`{"recording_id":7,"text":"%01000d"}`, 7)
	sent := time.Date(2025, 10, 15, 17, 31, 26, 0, time.UTC)
	put(t, i, Delivery{Account: "a", WebhookID: "msg_1", Body: []byte(long), SentAt: sent,
		Header: map[string][]string{"Content-Type": {"application/json"}}})
	put(t, i, delivery("a", "msg_2", "{}"))
	put(t, i, delivery("a", "msg_3", ""))
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the inbox file is %v, %v; want mode 0600", fi, err)
	}
	i = openInbox(t, path, Options{})
	ds, err := i.Pending(t.Context(), 10)
	if err != nil || len(ds) != 3 {
		t.Fatalf("pending after reopening: %d deliveries, %v; want 3", len(ds), err)
	}
	d := ds[0]
	if string(d.Body) != long || !d.SentAt.Equal(sent) || d.Header.Get("content-type") != "application/json" ||
		d.Kind != KindWebhook || d.State != StateReceived || d.Size != int64(len(long)) {
		t.Errorf("first delivery came back as %+v", d)
	}
	if ds[2].Body == nil || len(ds[2].Body) != 0 {
		t.Errorf("an empty body came back as %v", ds[2].Body)
	}
}

func TestMissingFileIsNotCreated(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "inbox.db"), Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("opening a missing inbox: %v, want not exist", err)
	}
}

func TestKeyOutlivesBody(t *testing.T) {
	var clock atomic.Pointer[time.Time] // the writer reads it too
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock.Store(&now)
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openInbox(t, path, Options{Now: func() time.Time { return *clock.Load() }})
	for n := range 3 {
		put(t, i, delivery("a", fmt.Sprint("msg_", n), "body"))
	}
	ds, err := i.Pending(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Settle(t.Context(), Outcome{ID: ds[0].ID, RecordingID: 42}, Outcome{ID: ds[1].ID, Quarantine: "not JSON"}); err != nil {
		t.Fatal(err)
	}
	later := now.Add(31 * 24 * time.Hour)
	clock.Store(&later)
	n, err := i.DropBodiesBefore(t.Context(), later.Add(-30*24*time.Hour))
	if err != nil || n != 1 {
		t.Fatalf("let go: %d, %v; want the applied one only", n, err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = openInbox(t, path, Options{})
	for n := range 3 {
		if !put(t, i, delivery("a", fmt.Sprint("msg_", n), "another body")) {
			t.Errorf("delivery %d was taken for new after its body was dropped", n)
		}
	}
	if put(t, i, delivery("b", "msg_0", "body")) {
		t.Error("the same id for another account was taken for a duplicate")
	}
	got, err := i.Delivery(t.Context(), ds[0].ID)
	if err != nil || got.Body != nil || got.Size != 4 || got.RecordingID != 42 || got.State != StateApplied {
		t.Errorf("the applied delivery is now %+v, %v", got, err)
	}
	if err := i.Replay(t.Context(), ds[0].ID); err == nil {
		t.Error("a delivery without its body was replayed")
	}
	if err := i.Replay(t.Context(), 999); !errors.Is(err, ErrNoDelivery) {
		t.Errorf("replaying an unknown delivery: %v", err)
	}
}

func TestQuarantineAndReplay(t *testing.T) {
	i := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{})
	put(t, i, delivery("a", "msg_1", "not json"))
	if err := i.Quarantine(t.Context(), 1, "not JSON"); err != nil {
		t.Fatal(err)
	}
	put(t, i, delivery("a", "msg_2", "{}"))
	list, err := i.List(t.Context(), Query{State: StateQuarantined})
	if err != nil || len(list) != 1 || list[0].Reason != "not JSON" || list[0].SettledAt.IsZero() {
		t.Fatalf("quarantine holds %+v, %v", list, err)
	}
	if diff := cmp.Diff([]string{"msg_2"}, pendingIDs(t, i)); diff != "" {
		t.Errorf("pending: %s", diff)
	}
	if err := i.Replay(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"msg_1", "msg_2"}, pendingIDs(t, i)); diff != "" {
		t.Errorf("pending after the replay: %s", diff)
	}
	counts, err := i.Counts(t.Context())
	if err != nil || counts != (Counts{Received: 2}) {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

func TestWaitPending(t *testing.T) {
	i := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{})
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.WaitPending(short); !errors.Is(err, context.Canceled) {
		t.Fatalf("waiting on an empty inbox with an ended context: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := i.WaitPending(t.Context()); err != nil {
			t.Error(err)
		}
	})
	put(t, i, delivery("a", "msg_1", "{}"))
	wg.Wait()
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Put(t.Context(), delivery("a", "msg_2", "{}")); !errors.Is(err, ErrClosed) {
		t.Errorf("put after close: %v", err)
	}
}
