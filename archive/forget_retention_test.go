package archive

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/archive/media"
	"minutebook/internal/sqlite"
)

// agedArchive returns an archive of four meetings with recordings: 1 and 2 are of a
// team each and old, 3 is young, 4 has the recording of 2 and is young. 5 is old and
// waits for its recording.
func agedArchive(t *testing.T) (a *Archive, now *time.Time) {
	t.Helper()
	a = newArchive(t)
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	now = &at
	a.now = func() time.Time { return *now }
	for id, m := range map[int64]struct{ team, start, sound string }{
		1: {"Sales", "2026-01-01", "one"}, 2: {"Ops", "2026-01-02", "shared"}, 3: {"Sales", "2026-05-30", "three"}, 4: {"Ops", "2026-05-31", "shared"},
		5: {"Sales", "2026-01-03", ""},
	} {
		raw := `{"recording_id":` + string(rune('0'+id)) + `,"title":"T","meeting_type":"Call","recording_start_time":"` + m.start + `T00:00:00Z",
			"recorded_by":{"name":"A","email":"a@x.example","team":"` + m.team + `"}}`
		apply(t, a, observe(t, SourceList, epoch0, []byte(raw)))
		if m.sound == "" {
			if n, err := a.WantDownloads(t.Context(), id); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			continue
		}
		b, err := a.Media().Put(t.Context(), strings.NewReader("sound of "+m.sound))
		if err == nil {
			err = a.AttachMedia(t.Context(), id, MediaAudio, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, now
}

// mayAlways lets recordings be deleted.
func mayAlways(*sql.Tx, *Expired) (bool, error) { return true, nil }

func deleteExpired(t *testing.T, a *Archive, rules ...RetentionRule) []int64 {
	t.Helper()
	var ids []int64
	expired, err := a.Expired(t.Context(), rules)
	if err == nil {
		err = a.deleteExpired(t.Context(), expired, mayAlways, func(e Expired) { ids = append(ids, e.RecordingID) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestRetainDeletesWhatRulesSay(t *testing.T) {
	a, _ := agedArchive(t)
	rules := []RetentionRule{{MediaAfter: 100 * day, Types: []string{"call"}, Teams: []string{"sales"}}, {Teams: []string{"Ops"}}, {MediaAfter: day}}
	expired, err := a.Expired(t.Context(), rules)
	if err != nil || len(expired) != 2 || expired[0].RecordingID != 1 || expired[0].Recordings != 1 || expired[0].Bytes != 12 || expired[0].Rule != 1 {
		t.Fatalf("dry run: %+v, %v", expired, err)
	}
	if diff := cmp.Diff([]int64{1, 5}, deleteExpired(t, a, rules...)); diff != "" {
		t.Fatal(diff)
	}
	row, err := a.Row(t.Context(), 1)
	if err != nil || row.HasAudio {
		t.Errorf("has audio: %v, %v", row.HasAudio, err)
	}
	if files := filesWith(t, a.Dir(), "sound of one"); files != nil {
		t.Errorf("still in %v", files)
	}
	audit, err := columnOf(a.db, `SELECT json_array(action, recording_id, reason, detail) FROM audit`)
	if err != nil || !cmp.Equal(audit, []string{`["retention",1,"rule 1: recordings are kept 100 days","1 recording, 12 bytes"]`}) {
		t.Errorf("audit %+v, %v", audit, err)
	}
	if n, err := a.WantDownloads(t.Context()); n != 0 || err != nil {
		t.Errorf("%d recordings would be fetched again, %v", n, err)
	}
	err = sqlite.Each(t.Context(), a.db.R, func(rows *sql.Rows) error {
		var ignored int
		var detail string
		err := rows.Scan(&ignored, &ignored, &ignored, &detail)
		if strings.HasPrefix(detail, "SCAN") {
			t.Errorf("each meeting reads a whole table: %s", detail)
		}
		return err
	}, `EXPLAIN QUERY PLAN `+deleteExpiredMedia, 1)
	must(t, err)
	if repeated := deleteExpired(t, a, rules...); repeated != nil {
		t.Errorf("a second run deleted of %v", repeated)
	}
	verifyClean(t, a)
}

// TestRetainKeepsASharedRecording has a young meeting keep a recording that an old one loses.
func TestRetainKeepsASharedRecording(t *testing.T) {
	a, now := agedArchive(t)
	rule := RetentionRule{MediaAfter: 100 * day}
	if diff := cmp.Diff([]int64{1, 2, 5}, deleteExpired(t, a, rule)); diff != "" {
		t.Fatal(diff)
	}
	if files := filesWith(t, a.Dir(), "sound of shared"); len(files) != 1 {
		t.Errorf("the recording of meeting 4 is in %v", files)
	}
	*now = now.Add(365 * day)
	if diff := cmp.Diff([]int64{3, 4}, deleteExpired(t, a, rule)); diff != "" {
		t.Fatal(diff)
	}
	if files := filesWith(t, a.Dir(), "sound of"); files != nil {
		t.Errorf("still in %v", files)
	}
	verifyClean(t, a)
}

// failingDelete is a store that a crash keeps from deleting.
type failingDelete struct{ media.Store }

func (failingDelete) Delete(context.Context, string) error { return errors.New("the power is gone") }

// TestRetainGoesOn stops between the row's end and the file's.
func TestRetainGoesOn(t *testing.T) {
	a, _ := agedArchive(t)
	whole := a.media
	a.media = failingDelete{whole}
	rule := RetentionRule{MediaAfter: 100 * day}
	expired, err := a.Expired(t.Context(), []RetentionRule{rule})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.deleteExpired(t.Context(), expired, mayAlways, func(Expired) {}); err == nil {
		t.Fatal("no error")
	}
	if files := filesWith(t, a.Dir(), "sound of one"); len(files) != 1 {
		t.Fatalf("the file should be left, it is in %v", files)
	}
	verifyClean(t, a) // the file waits for the next run
	a.media = whole
	deleteExpired(t, a, rule)
	if files := filesWith(t, a.Dir(), "sound of one"); files != nil {
		t.Errorf("still in %v", files)
	}
	verifyClean(t, a)
}

// TestAPartialFileIsDeletedAfterACrash stops between the end of a row and that of the partial file.
func TestAPartialFileIsDeletedAfterACrash(t *testing.T) {
	a, _ := agedArchive(t)
	path := a.PartialPath("5")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("half of the sound"), 0o600))
	_, err := a.deleteRecordings(t.Context(), &Expired{RecordingID: 5, Rule: 1}, mayAlways)
	must(t, err)
	dir := a.Dir()
	must(t, a.Close())
	openArchive(t, dir)
	if files := filesWith(t, dir, "half of the sound"); files != nil {
		t.Errorf("still in %v", files)
	}
}

// TestARecordingThatComesMeanwhileIsCounted attaches a recording to a meeting that a run of the
// rules has found without one, before the run comes to the meeting.
func TestARecordingThatComesMeanwhileIsCounted(t *testing.T) {
	a, _ := agedArchive(t)
	expired, err := a.Expired(t.Context(), []RetentionRule{{MediaAfter: 100 * day}})
	must(t, err)
	b, err := a.Media().Put(t.Context(), strings.NewReader("sound of five"))
	must(t, err)
	must(t, a.AttachMedia(t.Context(), 5, MediaAudio, b))
	must(t, a.deleteExpired(t.Context(), expired, mayAlways, func(e Expired) {
		if e.RecordingID == 5 && (e.Recordings != 1 || e.Bytes != b.Size) {
			t.Errorf("deleted are %d recordings, %d bytes", e.Recordings, e.Bytes)
		}
	}))
	row, err := a.Row(t.Context(), 5)
	if err != nil || row.HasAudio {
		t.Errorf("the row is %+v, %v", row, err)
	}
	if n, err := sqlite.Column[int](t.Context(), a.db.R, `SELECT count(*) FROM audit WHERE recording_id = 5`); err != nil || n[0] != 1 {
		t.Errorf("the audit has %v lines, %v", n, err)
	}
	verifyClean(t, a)
}

func verifyClean(t *testing.T, a *Archive) {
	t.Helper()
	if _, damages := verify(t, a, VerifyOptions{}); damages != nil {
		t.Errorf("damage: %v", damages)
	}
}

// TestRetentionDeletesDamagedRecordingsAlone puts a damaged recording aside, of a meeting that
// has no other, and text of the meeting: the rule deletes the recording, and files that were
// stored before a crash and never attached.
func TestRetentionDeletesDamagedRecordingsAlone(t *testing.T) {
	a, _ := agedArchive(t)
	m, err := a.MediaOf(t.Context(), 1)
	if err == nil {
		err = a.dropRecording(t.Context(), m[0].SHA256, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.putAside(t.Context(), 1, "rows.json", []byte("it was said")); err != nil {
		t.Fatal(err)
	}
	fetched, err := a.media.Put(t.Context(), strings.NewReader("sound of five"))
	if err != nil {
		t.Fatal(err)
	}
	imported, err := a.media.Put(t.Context(), strings.NewReader("another sound of one"))
	if err == nil {
		err = a.ExpectMedia(t.Context(), 1, imported.SHA256)
	}
	if err == nil {
		_, err = a.db.W.Exec(`UPDATE downloads SET sha256 = ? WHERE recording_id = 5`, fetched.SHA256)
	}
	if err != nil {
		t.Fatal(err)
	}
	rule := RetentionRule{MediaAfter: 100 * day, Teams: []string{"Sales"}}
	if diff := cmp.Diff([]int64{1, 5}, deleteExpired(t, a, rule)); diff != "" {
		t.Error(diff)
	}
	for _, sound := range []string{"sound of one", "sound of five"} {
		if files := filesWith(t, a.Dir(), sound); files != nil {
			t.Errorf("%s is in %v", sound, files)
		}
	}
	if files := filesWith(t, a.Dir(), "it was said"); len(files) != 1 {
		t.Errorf("the text is in %v", files)
	}
	if got := deleteExpired(t, a, rule); got != nil {
		t.Errorf("once more: %v", got)
	}
}
