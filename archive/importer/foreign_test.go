package importer

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/archive/export"
	"minutebook/internal/bucket"
	"minutebook/internal/outbound"
	"minutebook/internal/residue"
	"minutebook/internal/s3test"
	"minutebook/internal/sqlite"
)

const (
	talkVTT  = "WEBVTT\n\n00:01.000 --> 00:03.000\nSPEAKER_00: Good morning, the pelican budget.\n\n00:04.000 --> 00:09.000\nSPEAKER_01: It is late.\n"
	talkTOML = `title = "Budget"
start = 2026-03-01T10:00:00+01:00
recorded_by = "Ada Lovelace <ada@north.example>"
people = ["Ben Ode <ben@north.example>", "kim@south.example"]
visible_to = ["ben@north.example", "team:Sales"]
language = "en"
summary = "# Budget"
[speakers]
SPEAKER_00 = "Ada Lovelace"
SPEAKER_01 = "Ben Ode"
[[action_items]]
text = "Count the pelicans"
assignee = "Ben Ode <ben@north.example>"
at = "00:04"
`
)

// writeFiles writes files below a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// ticking opens an archive on whose clock every look is later than the one before.
func ticking(t *testing.T) *archive.Archive {
	t.Helper()
	var looks atomic.Int64
	return archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return archivetest.Epoch.Add(time.Duration(looks.Add(1)) * time.Second) })
}

func importPath(t *testing.T, a *archive.Archive, path string) Result {
	t.Helper()
	r, err := ReadPath(t.Context(), a, Options{}, path)
	if err != nil || len(r.Wrong) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func allRows(t *testing.T, a *archive.Archive) []*archive.Row {
	t.Helper()
	rows, err := a.List(t.Context(), archive.ListQuery{Viewer: archive.Viewer{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestMeetingsOfOtherPrograms(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{
		"budget/meeting.toml": talkTOML, "budget/talk.vtt": talkVTT, "budget/talk.m4a": "\x00\x00\x00\x18ftypM4A recording",
		"2026-02-03 14.30 Weekly_sync.srt": "1\n00:00:01,000 --> 00:00:02,000\nHello.\n",
		"whisper/call.json":                `{"segments": [{"start": 1, "end": 2, "text": "Bonjour."}], "language": "fr"}`,
		"whisper/call.srt":                 "1\n00:00:01,000 --> 00:00:02,000\nBonjour.\n",
		"whisper/call.toml":                "start = \"2026-01-01\"\n",
		"export/.minutebook-export.db":     "", "export/x.vtt": talkVTT,
		"service.json": string(archivetest.Meeting(5, "of the service", "x")),
		"notes.txt":    "no meeting",
	})
	r := importPath(t, a, dir)
	if r.New != 4 || r.Recordings != 1 {
		t.Fatalf("%+v", r)
	}
	var lines []string
	for _, row := range allRows(t, a) {
		if row.RecordingID > 5 && row.RecordingID < archive.FirstForeignID {
			t.Errorf("id %d", row.RecordingID)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s", row.Start.UTC().Format(time.RFC3339), row.End.Sub(row.Start), row.Title, row.Language, row.RecordedBy.Email))
	}
	want := []string{"2026-03-01T09:00:00Z 9s Budget en ada@north.example", "2026-02-03T14:30:00Z 2s Weekly sync  ", "2026-01-01T00:00:00Z 2s call fr "}
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("no %q in\n%s", line, strings.Join(lines, "\n"))
		}
	}
	id := allRows(t, a)[0].RecordingID
	for email, sees := range map[string]bool{"ada@north.example": true, "ben@north.example": true, "kim@south.example": false} {
		if _, plays, err := a.MayPlay(t.Context(), archive.ViewerWith(email), id); err != nil || plays != sees {
			t.Errorf("%s plays it: %t, %v", email, plays, err)
		}
	}
	entries, err := a.Entries(t.Context(), id, 0, -1)
	if err != nil || len(entries) != 2 || entries[1].Speaker != "Ben Ode" || entries[1].Offset != 4*time.Second {
		t.Errorf("%+v, %v", entries, err)
	}
	if n, err := a.WantDownloads(t.Context()); err != nil || n != 1 {
		t.Errorf("%d recordings are asked of the service, %v", n, err)
	}
	for _, row := range allRows(t, a) {
		if again, err := a.RetryDownload(t.Context(), row.RecordingID); again != (row.RecordingID == 5) || err != nil {
			t.Errorf("the recording of %d is asked of the service: %t, %v", row.RecordingID, again, err)
		}
	}
	againChangesNothing(t, a, dir)
}

// againChangesNothing imports files again, also copies with other names and dates.
func againChangesNothing(t *testing.T, a *archive.Archive, dir string) {
	t.Helper()
	head, err := a.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	writeFiles(t, copied, map[string]string{"renamed.srt": "1\r\n00:00:01.000 --> 00:00:02.000\r\nHello.\r\n\r\n"})
	for _, path := range []string{dir, copied, filepath.Join(dir, "budget", "talk.vtt")} {
		r := importPath(t, a, path)
		if now, err := a.Head(t.Context()); r.Changed != 0 || r.New != 0 || r.Recordings != 0 || now != head || err != nil {
			t.Errorf("%s: %+v, %v → %v, %v", path, r, head, now, err)
		}
	}
}

func TestMetadataIsCorrected(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": talkTOML})
	importPath(t, a, dir)
	writeFiles(t, dir, map[string]string{"a.toml": "title = \"Pelicans\"\nstart = 2026-03-02T10:00:00\nrecorded_by = \"ada@north.example\"\n"})
	importPath(t, a, dir)
	rows := allRows(t, a)
	if len(rows) != 1 || rows[0].Title != "Pelicans" || rows[0].Start.Day() != 2 {
		t.Errorf("%+v", rows)
	}
	if visible, _, err := a.MayPlay(t.Context(), archive.ViewerWith("ben@north.example"), rows[0].RecordingID); visible || err != nil {
		t.Errorf("it is still visible to who is not named any more: %v", err)
	}
	// With a key a corrected transcript is the same meeting.
	for _, text := range []string{"one.", "two."} {
		writeFiles(t, dir, map[string]string{"b.vtt": "WEBVTT\n\n00:01.000 --> 00:03.000\n" + text, "b.toml": `key = "zoom/1"`})
		importPath(t, a, dir)
	}
	entries, err := a.Entries(t.Context(), allRows(t, a)[0].RecordingID, 0, -1)
	if rows := allRows(t, a); len(rows) != 2 || err != nil || entries[0].Text != "two." {
		t.Errorf("%+v, %+v, %v", rows, entries, err)
	}
}

func TestWrongFilesAreNamedAndTheRestIsTaken(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.vtt": "WEBVTT\n\nx\ny\n", "b.vtt": talkVTT, "b.toml": "titel = \"x\"\n", "c.vtt": talkVTT, "c.toml": "key = \"x\"\ntitle = Weekly\n",
		"d.vtt": talkVTT, "d.toml": "start = \"tomorrow\"", "e.vtt": talkVTT, "e.toml": "visible_to = [\"Ben\"]", "f.vtt": talkVTT, "f.toml": "people = [\"a@b@c\"]",
		"g/meeting.toml": "", "h/meeting.toml": "", "h/one.vtt": talkVTT, "h/two.vtt": talkVTT, "i/meeting.toml": "transcript = \"x.vtt\"", "i/one.vtt": talkVTT,
		"j.vtt": talkVTT, "k.vtt": talkVTT, "k.toml": "start = 2026-03-02\nend = 2026-03-01", "l.vtt": talkVTT, "l.toml": "[[action_items]]\ntext = \"x\"\nat = \"x\"",
		"m.vtt": talkVTT, "m.toml": "title = 5\n", "n.vtt": talkVTT, "n.toml": "recording = \"talk.mp4\"", "o.vtt": talkVTT, "o.toml": "transcript = \"j.vtt\"",
		"p.vtt": talkVTT, "p.toml": strings.Repeat("#", maxMetadata+1), "q.vtt": talkVTT, "q.toml": "start = { at = 1 }",
		"r.vtt": talkVTT, "r.toml": "[[action_items]]\ntext = \" \"\nassignee = \"Ben\"", "s.vtt": talkVTT, "s.toml": "people = [\"Ben\", \" \"]",
		"2026-03-01 t.vtt": talkVTT, "2026-03-01 t.toml": "end = 2020-01-01",
	})
	r, err := ReadPath(t.Context(), a, Options{Owner: "ada@north.example", VisibleTo: []string{"everyone"}}, dir)
	if err != nil || r.New != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	var got []string
	for _, w := range r.Wrong {
		got = append(got, strings.ReplaceAll(w.Error(), dir+"/", ""))
	}
	slices.Sort(got)
	want := []string{`2026-03-01 t.toml: end: 2020-01-01T00:00:00Z is before 2026-03-01T00:00:00Z, which the file's name says`, `a.vtt: line 4: here should be`, `b.toml: line 1: unknown setting "titel"`, `c.toml: line 2: a text stands in quotes`, `d.toml: start: "tomorrow" is no time`,
		`e.toml: visible_to: "Ben" is neither`, `f.toml: people: "a@b@c" is neither`, `g: there is a meeting.toml and no transcript`, `h: there are one.vtt and two.vtt`,
		`i: meeting.toml: transcript: there is no such file`, `k.toml: end: 2026-03-01T00:00:00Z is before start`, `l.toml: action_items[0].at: "x" is no time`, `m.toml: line 1: title: takes a text in quotes, not an integer`,
		`n.toml: recording = "talk.mp4" counts only in a meeting.toml`, `o.toml: transcript = "j.vtt" counts only in a meeting.toml`, `p.toml: it is longer than 1 MiB`,
		`q.toml: start: takes a date and time such as`, `r.toml: action_items[0].text: is missing`, `s.toml: people: the text at place 2 is empty`}
	if len(got) != len(want) {
		t.Errorf("%d files are wrong: %s", len(got), strings.Join(got, "\n"))
	}
	for i, line := range want {
		if i < len(got) && !strings.HasPrefix(got[i], line) {
			t.Errorf("%q, not %q", got[i], line)
		}
	}
	if visible, _, err := a.MayPlay(t.Context(), archive.ViewerWith("ada@north.example"), allRows(t, a)[0].RecordingID); !visible || err != nil {
		t.Errorf("the owner does not see it: %v", err)
	}
}

// newArchiveIn returns an empty archive whose recordings are in a bucket.
func newArchiveIn(t *testing.T, mediaURL string, line bucket.Line) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), MediaURL: mediaURL, MediaLine: line})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestForgottenWhileItsRecordingIsStored has a meeting forgotten while the store takes its
// recording: no byte of it stays.
func TestForgottenWhileItsRecordingIsStored(t *testing.T) {
	var a *archive.Archive
	server := s3test.Start(t)
	slow := server.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, "archive-id") {
				if marks, err := a.Marks(r.Context(), "damaged/"); err != nil || len(marks) != 1 {
					t.Errorf("a crash now would leave a file of nobody: marks %v, %v", marks, err)
				}
				if _, err := a.Forget(r.Context(), allRows(t, a)[0].RecordingID, "test"); err != nil {
					t.Error(err)
				}
			}
			server.ServeHTTP(w, r)
		})
	})
	a = newArchiveIn(t, slow.URL("recordings", "foreign"), bucket.Line{})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": talkTOML, "a.mp3": "ID3 recording"})
	if r := importPath(t, a, dir); r.Forgotten != 1 || r.Recordings != 0 {
		t.Errorf("%+v", r)
	}
	if left := server.Objects(t, "foreign"); len(left) > 0 {
		t.Errorf("the store keeps %q", left)
	}
	if marks, err := a.Marks(t.Context(), "damaged/"); err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// TestVerifyFindsNothingWhileARecordingIsStored repairs an archive when the store has taken an
// import's recording, and has not answered yet.
func TestVerifyFindsNothingWhileARecordingIsStored(t *testing.T) {
	var a *archive.Archive
	server := s3test.Start(t)
	slow := server.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, r)
			if r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, "archive-id") {
				_, err := a.Verify(r.Context(), archive.VerifyOptions{Repair: true}, func(d archive.Damage) {
					if d.Class != archive.DamageMode { // which the directory of a test has
						t.Errorf("verify finds %s", d)
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes())
		})
	})
	a = newArchiveIn(t, slow.URL("recordings", "checked"), bucket.Line{})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": talkTOML, "a.mp3": "ID3 recording"})
	if r := importPath(t, a, dir); r.Recordings != 1 || len(r.Wrong) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestARecordingIsDroppedWhileItIsStored has a retention rule take a stored file
// away before it is attached: its meeting waits for the next import, and the others do not.
func TestARecordingIsDroppedWhileItIsStored(t *testing.T) {
	var a *archive.Archive
	drops := 1
	slow := s3test.Start(t)
	slow = slow.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			server.ServeHTTP(w, r)
			if r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, "archive-id") && drops > 0 {
				drops--
				if dropped, err := a.DropBlob(r.Context(), path.Base(r.URL.Path)); err != nil || !dropped {
					t.Error(dropped, err)
				}
			}
		})
	})
	a = newArchiveIn(t, slow.URL("recordings", "foreign"), bucket.Line{})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.mp3": "ID3 recording", "b.vtt": talkVTT + "\n00:20.000 --> 00:22.000\nOnce more.\n"})
	for _, recordings := range []int{0, 1} {
		r, err := ReadPath(t.Context(), a, Options{}, dir)
		if err != nil || r.Read != 2 || r.Recordings != recordings || len(r.Wrong) != 1-recordings {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestAFileThatChangesWhileItIsStored is expected with one hash and read with another.
func TestAFileThatChangesWhileItIsStored(t *testing.T) {
	a := archivetest.New(t)
	im := newRun(a, Options{})
	b, err := im.put(t.Context(), 1, fmt.Sprintf("%x", sha256.Sum256([]byte("ID3 it"))), strings.NewReader("ID3 it has grown"))
	if err == nil {
		t.Errorf("stored as %s, which forget does not expect", b.SHA256)
	}
	if marks, err := a.Marks(t.Context(), "damaged/"); err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// TestForeignMeetingsLiveAsOthers verifies, rebuilds, exports, backs up, restores and
// forgets meetings of other programs.
func TestForeignMeetingsLiveAsOthers(t *testing.T) {
	dataDir := archivetest.Dir(t)
	if err := os.Chmod(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, dir, out := archivetest.Open(t, dataDir), t.TempDir(), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": talkTOML, "a.mp3": "ID3 recording"})
	importPath(t, a, dir)
	id := allRows(t, a)[0].RecordingID
	if err := a.Rebuild(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if v, err := a.Verify(t.Context(), archive.VerifyOptions{}, func(d archive.Damage) { t.Error(d) }); err != nil || v.Recordings != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	exportTo(t, a, export.Options{Dir: out, Format: export.NDJSON})
	back := archivetest.New(t)
	if r, err := ReadPath(t.Context(), back, Options{}, out); err != nil || r.New != 1 || allRows(t, back)[0].RecordingID != id {
		t.Errorf("%+v, %v", r, err)
	}
	backups, restored := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if _, err := backup.Run(t.Context(), a, backups, backup.Options{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: backups, Dir: restored}); err != nil {
		t.Fatal(err)
	}
	b := archivetest.Open(t, restored)
	if visible, plays, err := b.MayPlay(t.Context(), archive.ViewerWith("ben@north.example"), id); !visible || !plays || err != nil {
		t.Errorf("after a restore: %t %t %v", visible, plays, err)
	}
	if _, err := a.Forget(t.Context(), id, "test"); err != nil {
		t.Fatal(err)
	}
	if r := importPath(t, a, dir); r.Forgotten != 1 || len(allRows(t, a)) != 0 {
		t.Errorf("it came back: %+v", r)
	}
	for _, word := range []string{"pelican", "Budget", "a.vtt"} {
		if files := residue.Find(t, word, dataDir); len(files) > 0 {
			t.Errorf("%s is still in %q", word, files)
		}
	}
}

// TestContentAndWhoSeesItAreTakenTogether imports a meeting whose new content is for fewer
// people, and a write of who sees it fails: the new content is not there.
func TestContentAndWhoSeesItAreTakenTogether(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": talkTOML})
	importPath(t, a, dir)
	writeFiles(t, dir, map[string]string{"a.toml": "title = \"For Ada alone\"\nrecorded_by = \"ada@north.example\"\n"})
	db := sqlite.Connect(filepath.Join(a.Dir(), "archive.db"), "?mode=rw", nil)
	defer db.Close()
	if _, err := db.Exec(`CREATE TRIGGER fail BEFORE DELETE ON shares BEGIN SELECT RAISE(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadPath(t.Context(), a, Options{}, dir); err == nil && len(r.Wrong) == 0 {
		t.Error("the import has not failed")
	}
	row := allRows(t, a)[0]
	if visible, _, err := a.MayPlay(t.Context(), archive.ViewerWith("ben@north.example"), row.RecordingID); err != nil || visible && row.Title != "Budget" {
		t.Errorf("%q is visible to Ben: %t, %v", row.Title, visible, err)
	}
	if _, err := db.Exec(`DROP TRIGGER fail`); err != nil {
		t.Fatal(err)
	}
	importPath(t, a, dir)
	if visible, _, err := a.MayPlay(t.Context(), archive.ViewerWith("ben@north.example"), row.RecordingID); visible || err != nil || allRows(t, a)[0].Title != "For Ada alone" {
		t.Errorf("after the failure: %t, %v, %+v", visible, err, allRows(t, a))
	}
}

// TestAStoreThatIsLateDelaysNoMeeting imports recordings into a bucket whose answers drip.
// It is waited for once, all transcripts are taken, and the recordings when it is well.
func TestAStoreThatIsLateDelaysNoMeeting(t *testing.T) {
	var well atomic.Bool
	var waits atomic.Int32
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if well.Load() {
				server.ServeHTTP(w, r)
				return
			}
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound) // then the bucket is asked why
				return
			}
			waits.Add(1)
			for r.Context().Err() == nil {
				w.Write([]byte(" "))
				http.NewResponseController(w).Flush()
				time.Sleep(2 * time.Millisecond)
			}
		})
	})
	a := newArchiveIn(t, server.URL("recordings", "late"), bucket.Line{Patience: outbound.Patience{Time: time.Millisecond, Bytes: 1 << 20}})
	dir := t.TempDir()
	const meetings = 5
	for i := range meetings {
		name := fmt.Sprint(i)
		writeFiles(t, dir, map[string]string{name + ".vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n" + name + "\n", name + ".mp3": "ID3 recording " + name})
	}
	waits.Store(0)
	r, err := ReadPath(t.Context(), a, Options{}, dir)
	if err != nil || r.New != meetings || len(r.Wrong) != meetings || !strings.Contains(r.Wrong[meetings-1].Error(), "4.mp3: it cannot be stored: bucket recordings at") || waits.Load() != 1 {
		t.Errorf("%d waits, %+v, %v", waits.Load(), r, err)
	}
	well.Store(true)
	if r := importPath(t, a, dir); r.Recordings != meetings {
		t.Errorf("when the store is well: %+v", r)
	}
}
