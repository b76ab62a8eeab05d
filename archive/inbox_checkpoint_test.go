package archive

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// copiedInto waits until a checkpoint has brought so much into the file.
func copiedInto(t *testing.T, path string, size int64) {
	t.Helper()
	var fi os.FileInfo
	for range 1000 {
		var err error
		if fi, err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if fi.Size() >= size {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the inbox has %d bytes beside its log, want %d: no checkpoint came", fi.Size(), size)
}

func randomBody(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return string(b)
}

func TestInboxCheckpointsBesideTheWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openTestInbox(t, path, InboxOptions{})
	const n, size = 10, 1 << 20
	for k := range n {
		put(t, i, delivery("a", fmt.Sprint("msg_", k), randomBody(size)))
	}
	copiedInto(t, path, checkpointBytes)
	for k := range checkpointCommits {
		put(t, i, delivery("a", fmt.Sprint("small_", k), "{}"))
	}
	copiedInto(t, path, n*size)
	if got := len(pendingIDs(t, i)); got != n+checkpointCommits {
		t.Errorf("%d deliveries are there, want %d", got, n+checkpointCommits)
	}
}

func TestInboxWriterFinishesALongLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openTestInbox(t, path, InboxOptions{})
	put(t, i, delivery("a", "msg_1", randomBody(1<<20)))
	i.checkpoints.finish <- struct{}{}
	put(t, i, delivery("a", "msg_2", "{}"))
	copiedInto(t, path, 1<<20)
}

func TestInboxPages(t *testing.T) {
	i := openTestInbox(t, filepath.Join(t.TempDir(), "inbox.db"), InboxOptions{})
	var size int
	if err := i.db.R.QueryRowContext(t.Context(), `PRAGMA page_size`).Scan(&size); err != nil || size != inboxPageSize {
		t.Errorf("a new inbox has pages of %d bytes, %v; want %d", size, err, inboxPageSize)
	}
}

// What waits is not compressed while much waits, and comes back as it was.
func TestInboxUnderPressureKeepsBodiesPlain(t *testing.T) {
	text := fmt.Sprintf(`{"text":"%04000d"}`, 7)
	for _, pressed := range []bool{false, true} {
		encoding, packed := packBody([]byte(text), new([]byte), pressed)
		if (encoding == encodingPlain) != pressed {
			t.Errorf("pressed %v: encoding %d", pressed, encoding)
		}
		room := packed // a larger room of before must not show
		if _, again := packBody([]byte("{}"), &room, pressed); string(again) != "{}" {
			t.Errorf("a small body after a large one is %q", again)
		}
	}
}
