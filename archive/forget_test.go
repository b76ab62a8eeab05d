package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/testrun"
)

// filesWith returns the files of a data directory that hold a string.
func filesWith(t *testing.T, dir, word string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestForgetLeavesNothingButTheID(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	const word = "Xylophonist"
	for id := int64(1); id <= 40; id++ {
		text := strings.Repeat("some words of the others ", 20)
		if id == 20 {
			text = strings.Repeat(word+" whispered. ", 300)
		}
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id, "Title "+text[:11], text)))
	}
	apply(t, a, observe(t, SourceList, epoch0.Add(time.Hour), bytes.ReplaceAll(meetingJSON(20, "Again "+word, word), []byte("Ann"), []byte(word))))
	if _, err := a.inbox.Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "msg_1", Kind: "webhook", ReceivedAt: epoch0,
		RecordingID: 20, Body: meetingJSON(20, word, word)}); err != nil {
		t.Fatal(err)
	}
	recording, err := a.Media().Put(t.Context(), strings.NewReader("recording of "+word))
	if err != nil {
		t.Fatal(err)
	}
	shared, err := a.Media().Put(t.Context(), strings.NewReader("recording of two"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		id   int64
		blob media.Blob
	}{{20, recording}, {20, shared}, {21, shared}} {
		if err := a.AttachMedia(t.Context(), at.id, MediaVideo, at.blob); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.db.CopyTo(t.Context(), a.db.Path+".before-1"); err != nil {
		t.Fatal(err)
	}
	if err := a.NoteBackup(t.Context(), "/mnt/usb"); err != nil {
		t.Fatal(err)
	}
	if len(filesWith(t, a.dir, word)) < 3 {
		t.Fatal("the test's word is not where it should be found")
	}
	asked := int64(0)
	a.OnForget("a room", func(_ context.Context, id int64) error { asked = id; return nil })

	f, err := a.Forget(t.Context(), 20, "asked by the person")
	if err != nil {
		t.Fatal(err)
	}
	if f.Recordings != 1 || len(f.Copies) != 1 || !slices.Equal(f.Backups, []string{"/mnt/usb"}) || asked != 20 {
		t.Errorf("forgot %+v, room asked for %d", f, asked)
	}
	if files := filesWith(t, a.dir, word); files != nil {
		t.Errorf("%s is still in %v", word, files)
	}
	if _, err := a.Row(t.Context(), 20); !errors.Is(err, ErrForgotten) {
		t.Errorf("row: %v; want ErrForgotten", err)
	}
	if m, err := a.MediaOf(t.Context(), 21); err != nil || len(m) != 1 {
		t.Errorf("recordings of the other meeting: %v, %v", m, err)
	}
	if _, err := a.Media().Stat(t.Context(), shared.SHA256); err != nil {
		t.Errorf("shared recording: %v", err)
	}
	lines, err := columnOf(a.db, `SELECT json_array(at, action, recording_id, reason, detail) FROM audit`)
	if want := []string{fmt.Sprintf(`[%d,"forget",20,"asked by the person",""]`, epoch0.UnixMilli())}; err != nil || !cmp.Equal(lines, want) {
		t.Errorf("audit %+v, %v", lines, err)
	}
	if got := apply(t, a, observe(t, SourceList, epoch0.Add(9*time.Hour), meetingJSON(20, word, word))); len(got.Changed)+got.New != 0 {
		t.Errorf("a later sync brought it back: %+v", got)
	}
	if _, err := a.inbox.Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "msg_2", Kind: "webhook", ReceivedAt: epoch0,
		Body: meetingJSON(20, word, word)}); err != nil {
		t.Fatal(err)
	}
	pending, err := a.inbox.Pending(t.Context(), 9)
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending %v, %v; want the later delivery alone", pending, err)
	}
	if err := a.inbox.Settle(t.Context(), inbox.Outcome{ID: pending[0].ID, RecordingID: 20}); err != nil {
		t.Fatal(err)
	}
	if d, err := a.inbox.Delivery(t.Context(), pending[0].ID); err != nil || d.Body != nil || d.WebhookID != "msg_2" {
		t.Errorf("a later delivery left %+v, %v; want its id and no body", d, err)
	}
	if counts, err := a.Counts(t.Context()); err != nil || counts.Meetings != 39 || counts.Forgotten != 1 {
		t.Errorf("counts %+v, %v", counts, err)
	}
	if _, err := a.Forget(t.Context(), 99, "typo"); !errors.Is(err, ErrNotFound) {
		t.Errorf("forget of an unknown meeting: %v; want ErrNotFound", err)
	}
	if _, err := a.Forget(t.Context(), 20, "again"); err != nil {
		t.Errorf("forget again: %v", err)
	}
}

func TestForgettingGoesOnAfterAFailure(t *testing.T) {
	a := filledArchive(t)
	media, err := a.MediaOf(t.Context(), 2)
	if err != nil || len(media) != 1 {
		t.Fatal(media, err)
	}
	broken := errors.New("index is away")
	a.OnForget("index", func(context.Context, int64) error { return broken })
	if _, err := a.Forget(t.Context(), 2, "r"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "index") {
		t.Fatalf("forget: %v; want the room's failure", err)
	}
	if _, err := a.Row(t.Context(), 2); !errors.Is(err, ErrForgotten) {
		t.Fatalf("row of a half forgotten meeting: %v", err)
	}
	dir := a.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openArchive(t, dir)
	if ids, err := a.readUnfinished(t.Context()); err != nil || !slices.Equal(ids, []int64{2}) {
		t.Fatalf("unfinished %v, %v; want 2", ids, err)
	}
	if err := a.FinishForgetting(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, err := a.readUnfinished(t.Context()); err != nil || len(ids) != 0 {
		t.Fatalf("unfinished %v, %v; want none", ids, err)
	}
	if _, err := a.Media().Stat(t.Context(), media[0].SHA256); !errors.Is(err, ErrNotFound) {
		t.Fatalf("its recording: %v; want ErrNotFound", err)
	}
	changes, err := a.Changes(t.Context(), Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	logged := slices.ContainsFunc(changes, func(c Change) bool { return c.RecordingID == 2 && c.Kind == ChangeForgotten })
	if !logged || slices.ContainsFunc(changes, func(c Change) bool { return c.RecordingID == 2 && c.Part == api.PartTranscript }) {
		t.Errorf("log of the forgotten meeting: told %v, %v", logged, changes)
	}
}

// A meeting that cannot be erased keeps no other from being forgotten, and the repair names
// the failure at that meeting alone.
func TestAMeetingThatCannotBeErasedDelaysNoOther(t *testing.T) {
	a := filledArchive(t)
	broken, fails := errors.New("index is away"), func(int64) bool { return true }
	a.OnForget("index", func(_ context.Context, id int64) error {
		if fails(id) {
			return broken
		}
		return nil
	})
	for _, id := range []int64{1, 2} {
		if _, err := a.Forget(t.Context(), id, "r"); !errors.Is(err, broken) {
			t.Fatalf("forget: %v", err)
		}
	}
	fails = func(id int64) bool { return id == 1 }
	repaired := map[int64]bool{}
	_, err := a.Verify(t.Context(), VerifyOptions{Repair: true}, func(d Damage) {
		if d.Class == DamageForgetting {
			repaired[d.RecordingID] = d.Repaired
			if d.Repaired == strings.Contains(d.What, broken.Error()) {
				t.Errorf("meeting %d, repaired %t: %s", d.RecordingID, d.Repaired, d.What)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[int64]bool{1: false, 2: true}; !cmp.Equal(repaired, want) {
		t.Errorf("repaired are %v, want %v", repaired, want)
	}
}

// TestForgetCoversEveryTable fails when a table with meetings' rows is added and
// forgetting does not know it.
func TestForgetCoversEveryTable(t *testing.T) {
	a := newArchive(t)
	tables, err := columnOf(a.db, `SELECT s.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c ON c.name = 'recording_id'
		WHERE s.type = 'table' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	expected := append(slices.Clone(meetingTables[:]), "tombstones", "audit")
	for _, table := range tables {
		if !slices.Contains(expected, table) {
			t.Errorf("table %s has rows of meetings that forget leaves", table)
		}
	}
	if len(tables) != len(expected) {
		t.Errorf("forget knows %d tables, there are %d: %v", len(expected), len(tables), fmt.Sprint(tables))
	}
}
