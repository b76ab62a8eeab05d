package archive

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/s2"

	"minutebook/api"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
)

// TestOpenClearsAwayWhatACrashLeft makes the files that a killed encrypted backup, a killed
// migration, a killed proof of a backup and killed repairs leave behind.
func TestOpenClearsAwayWhatACrashLeft(t *testing.T) {
	a := filledArchive(t)
	dir := a.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	const word = "Xylophonist"
	left := []string{".tmp-backup-archive.db", ".tmp-backup-archive.db-journal", ".tmp-123", "archive.db.migrating", "archive.db.migrating-wal", "service.db.migrating", ".tmp-proof/archive.db", ".tmp-proof/restoring",
		"damaged/.tmp-5", "media/damaged/.tmp-6"}
	for _, name := range append(left, "archive.db.before-1", "notes.txt", "proof/exhibit.txt") {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(word), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a = openArchive(t, dir)
	if got := filesWith(t, dir, word); !slices.Equal(got, []string{"archive.db.before-1", "notes.txt", "exhibit.txt"}) {
		t.Errorf("opened, there are %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, left[3]), []byte(word), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	if got := filesWith(t, dir, word); !slices.Equal(got, []string{"notes.txt", "exhibit.txt"}) {
		t.Errorf("forgotten, there are %v", got)
	}
}

// TestDamagedRecordingsAreForgottenToo has verify put two damaged recordings
// aside, one of them of two meetings.
func TestDamagedRecordingsAreForgottenToo(t *testing.T) {
	a := newArchive(t)
	for id := int64(1); id <= 3; id++ {
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id, "T", "said")))
	}
	unshared, shared := withMedia(t, a, 1, "only of one"), withMedia(t, a, 2, "of two")
	withMedia(t, a, 3, "of two")
	for _, b := range []media.Blob{unshared, shared} {
		path := media.Path(a.media, b.SHA256)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("damaged "+strings.Repeat("x", int(b.Size))), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	verify(t, a, VerifyOptions{Repair: true})
	if got := filesWith(t, a.dir, "damaged x"); len(got) != 2 {
		t.Fatalf("aside lie %v; want both", got)
	}
	for id, want := range map[int64][]string{1: {shared.SHA256}, 2: {shared.SHA256}} {
		if _, err := a.Forget(t.Context(), id, "asked for"); err != nil {
			t.Fatal(err)
		}
		if got := filesWith(t, a.dir, "damaged x"); id == 1 && slices.Contains(got, unshared.SHA256) || !slices.Contains(got, want[0]) {
			t.Errorf("meeting %d is forgotten, and aside lie %v", id, got)
		}
	}
	if _, err := a.Forget(t.Context(), 3, "asked for"); err != nil {
		t.Fatal(err)
	}
	if got := filesWith(t, a.dir, "damaged x"); got != nil {
		t.Errorf("all are forgotten, and aside lie %v", got)
	}
	if marks, err := a.Marks(t.Context(), unattachedMark); err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// TestForgetFindsRecordingsThatWereNeverAttached leaves files in the store as a killed import
// does, and has some put aside by a repair, also one that nobody expected. Whatever is of a
// forgotten meeting goes, at once or, where the import was running then, at the next start.
func TestForgetFindsRecordingsThatWereNeverAttached(t *testing.T) {
	const word = "Xylophonist "
	a := newArchive(t)
	store := func(id int64, what string) media.Blob {
		t.Helper()
		b, err := a.media.Put(t.Context(), strings.NewReader(word+what))
		if err == nil && id > 0 {
			err = a.ExpectMedia(t.Context(), id, b.SHA256)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for id := int64(1); id <= 4; id++ {
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id, "T", "said")))
	}
	store(1, "put aside")
	later, unknown := store(0, "attached later"), store(0, "nobody's")
	verify(t, a, VerifyOptions{Repair: true})
	store(0, "attached later")
	if err := a.AttachMedia(t.Context(), 2, MediaVideo, later); err != nil {
		t.Fatal(err)
	}
	store(3, "stored")
	shared := store(3, "of two")
	if err := errors.Join(a.ExpectMedia(t.Context(), 4, shared.SHA256), a.AttachMedia(t.Context(), 4, MediaVideo, shared)); err != nil {
		t.Fatal(err)
	}
	if marks, err := a.Marks(t.Context(), unattachedMark+shared.SHA256); err != nil || len(marks) != 1 {
		t.Errorf("attached, it has the marks %v, %v", marks, err)
	}
	for id := int64(1); id <= 3; id++ {
		f, err := a.Forget(t.Context(), id, "asked for")
		if err != nil || !slices.Equal(f.Unreadable, []string{media.QuarantinePath(a.media, a.dir, unknown.SHA256)}) {
			t.Errorf("perhaps of meeting %d are %q, %v", id, f.Unreadable, err)
		}
	}
	want := slices.Sorted(slices.Values([]string{unknown.SHA256, shared.SHA256}))
	if got := slices.Sorted(slices.Values(filesWith(t, a.dir, word))); !slices.Equal(got, want) {
		t.Errorf("forgotten, there are %v; want %v", got, want)
	}
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(5, "T", "said")))
	late := fmt.Sprintf("%x", sha256.Sum256([]byte(word+"stored after forget")))
	if err := a.ExpectMedia(t.Context(), 5, late); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Forget(t.Context(), 5, "asked for"); err != nil {
		t.Fatal(err)
	}
	store(0, "stored after forget")
	dir := a.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openArchive(t, dir)
	if got := slices.Sorted(slices.Values(filesWith(t, a.dir, word))); !slices.Equal(got, want) {
		t.Errorf("after a start there are %v; want %v", got, want)
	}
	if marks, err := a.Marks(t.Context(), unattachedMark); err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// The start after a killed import deletes the file that it was storing, and no other: none that a
// meeting has, that a download has fetched, or that lies aside.
func TestAStartDeletesWhatAKilledImportStored(t *testing.T) {
	const word = "Xylophonist "
	a := newArchive(t)
	expect := func(what string) string {
		t.Helper()
		b, err := a.media.Put(t.Context(), strings.NewReader(word+what))
		if err = errors.Join(err, a.ExpectMedia(t.Context(), 1, b.SHA256)); err != nil {
			t.Fatal(err)
		}
		return b.SHA256
	}
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
	aside := expect("put aside")
	verify(t, a, VerifyOptions{Repair: true})
	expect("stored")
	attached, fetched := withMedia(t, a, 1, word+"attached").SHA256, expect("fetched")
	if err := errors.Join(a.ExpectMedia(t.Context(), 1, attached),
		a.SaveDownload(t.Context(), Download{RecordingID: 1, State: DownloadReady, SHA256: fetched})); err != nil {
		t.Fatal(err)
	}
	dir := a.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openArchive(t, dir)
	want := slices.Sorted(slices.Values([]string{aside, attached, fetched}))
	if got := slices.Sorted(slices.Values(filesWith(t, a.dir, word))); !slices.Equal(got, want) {
		t.Errorf("after a start there are %v; want %v", got, want)
	}
	marks, err := a.Marks(t.Context(), unattachedMark)
	if _, isAside := marks[markUnattached(aside, 1).Key]; err != nil || len(marks) != 2 || !isAside {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// TestARepairKeepsNothingOfAForgottenMeeting goes on with repairs of a revision and of a
// recording whose meeting was forgotten after they had read the damage. Nor does it keep a
// recording that forget has not deleted yet, or call any of it damage.
func TestARepairKeepsNothingOfAForgottenMeeting(t *testing.T) {
	const word = "Xylophonist"
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
	b := withMedia(t, a, 1, word)
	ids, err := a.MeetingsWith(t.Context(), b.SHA256)
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	c := check{archive: a, options: VerifyOptions{Repair: true}}
	var d Damage
	damaged := stored{id: 1, recordingID: 1, part: api.PartTranscript, size: 100, body: []byte(word)}
	if err := c.repairRevision(t.Context(), damaged, &d); !errors.Is(err, ErrForgotten) || d.Aside != "" {
		t.Errorf("of a revision: %+v, %v", d, err)
	}
	for _, ids := range [][]int64{ids, nil} { // read before forget, and after it
		if err := a.replaceRecording(t.Context(), b.SHA256, ids, false, strings.NewReader(word)); err == nil {
			t.Errorf("of a recording of %v: no error", ids)
		}
	}
	orphan := stored{id: 77, recordingID: 1, part: api.PartMeeting, size: -1}
	if err := a.restoreRow(t.Context(), orphan, meetingJSON(1, word, word)); err != nil {
		t.Error(err)
	}
	found := func(d Damage) { t.Errorf("called a damage: %s", d) }
	if err := c.checkBlob(t.Context(), b, c.options, found); err != nil {
		t.Error(err)
	}
	if got := filesWith(t, a.dir, word); got != nil {
		t.Errorf("kept in %v", got)
	}
	_, err = a.db.W.Exec(`UPDATE tombstones SET done_at = NULL, blobs = ?`, `["`+b.SHA256+`"]`)
	if _, failed := a.media.Put(t.Context(), strings.NewReader(word)); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if err := errors.Join(a.dropRecording(t.Context(), b.SHA256, true), c.checkUnknownBlobs(t.Context(), c.options, found)); err != nil {
		t.Error(err)
	}
	if err := a.FinishForgetting(t.Context()); err != nil {
		t.Error(err)
	}
	if got := filesWith(t, a.dir, word); got != nil {
		t.Errorf("after all kept in %v", got)
	}
}

// TestForgetDoesNotWaitForABackupsCopy looks, while a repair reads a backup's copy of a
// recording, whether other recordings can be deleted and attached.
func TestForgetDoesNotWaitForABackupsCopy(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
	b := withMedia(t, a, 1, "moving pictures")
	if err := os.Remove(media.Path(a.media, b.SHA256)); err != nil {
		t.Fatal(err)
	}
	read := iotest.OneByteReader(strings.NewReader("moving pictures"))
	err := a.replaceRecording(t.Context(), b.SHA256, []int64{1}, false, readFunc(func(p []byte) (int, error) {
		if !a.blobs.TryAcquire(1) {
			t.Fatal("they wait")
		}
		a.blobs.Release(1)
		return read.Read(p)
	}))
	if _, damages := verify(t, a, VerifyOptions{}); err != nil || len(damages) > 0 {
		t.Error(err, damages)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestForgetLooksIntoDamagedDeliveries has deliveries whose meeting is not known
// damaged in the inbox and put aside by a repair: those that still name the meeting go,
// and those that name none are reported.
func TestForgetLooksIntoDamagedDeliveries(t *testing.T) {
	const word = "Xylophonist"
	about := func(id int64) []byte { return meetingJSON(id, word, strings.Repeat(word+" said. ", 30)) }
	s2 := func(b []byte) []byte { return s2.Encode(nil, b) }
	nameless := []byte("{\"title\":\"" + word + " and so on")
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
	for name, stored := range map[string][]byte{"delivery-1": about(1)[20:], "delivery-2": s2(about(1)), "delivery-3": about(2), "delivery-4": nameless} {
		if _, err := a.putAside(t.Context(), 0, name, stored); err != nil {
			t.Fatal(err)
		}
	}
	for id, body := range map[string][]byte{"a": about(1), "b": about(2), "c": nameless} {
		if _, err := a.inbox.Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: id, ReceivedAt: epoch0, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.inbox.DB().WriteTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE deliveries SET checksum = checksum + 1`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f, err := a.Forget(t.Context(), 1, "asked for")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := a.inbox.List(t.Context(), inbox.Query{State: inbox.StateReceived})
	if err != nil || len(kept) != 2 {
		t.Fatalf("waiting %+v, %v", kept, err)
	}
	unassigned := kept[slices.IndexFunc(kept, func(d inbox.Delivery) bool { return d.WebhookID == "c" })]
	want := []string{filepath.Join(a.dir, asideDir, "0-delivery-4"), fmt.Sprintf("delivery %d of the inbox", unassigned.ID)}
	if !slices.Equal(f.Unreadable, want) {
		t.Errorf("unreadable %q; want %q", f.Unreadable, want)
	}
	if got := filesWith(t, filepath.Join(a.dir, asideDir), word); !slices.Equal(got, []string{"0-delivery-3", "0-delivery-4"}) {
		t.Errorf("aside lie %v", got)
	}
	if _, err := a.Forget(t.Context(), 2, "asked for"); err != nil {
		t.Fatal(err)
	}
	if got := filesWith(t, filepath.Join(a.dir, asideDir), word); !slices.Equal(got, []string{"0-delivery-4"}) {
		t.Errorf("meeting 2 is forgotten, and aside lie %v", got)
	}
}

// TestForgetOfAReceivedMeeting forgets a meeting that is only in the inbox.
func TestForgetOfAReceivedMeeting(t *testing.T) {
	const word = "Xylophonist"
	for name, d := range map[string]inbox.Delivery{
		"a webhook":           {Body: meetingJSON(7, word, word)},
		"a callback's answer": {Kind: inbox.KindTranscript, RecordingID: 7, Body: []byte(`[{"text":"` + word + `"}]`)},
		"an applied webhook":  {Body: meetingJSON(7, word, word)},
		"a quarantined one":   {Body: append([]byte(word), meetingJSON(7, word, word)...)},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			d.Account, d.WebhookID, d.ReceivedAt = "main", "msg_1", epoch0
			if _, err := a.inbox.Put(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if name == "an applied webhook" {
				must(t, a.inbox.Settle(t.Context(), inbox.Outcome{ID: 1, RecordingID: 7}))
			}
			if _, err := a.Forget(t.Context(), 7, "asked for"); err != nil {
				t.Fatal(err)
			}
			if got := filesWith(t, a.dir, word); got != nil {
				t.Errorf("it is still in %v", got)
			}
			if all, open, err := a.Tombstones(t.Context()); err != nil || !slices.Equal(all, []int64{7}) || open != nil {
				t.Errorf("tombstones %v, open %v, %v", all, open, err)
			}
			if got := apply(t, a, observe(t, SourceList, epoch0, meetingJSON(7, word, word))); got.New != 0 {
				t.Errorf("a walk brought it back: %+v", got)
			}
			if _, err := a.Forget(t.Context(), 8, "typo"); !errors.Is(err, ErrNotFound) {
				t.Errorf("forget of an unknown meeting: %v", err)
			}
		})
	}
}
