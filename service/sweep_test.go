package service

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// A download is told of for 30 days after it has expired, and nothing that is
// still good is swept away.
func TestWhatHasLongExpiredIsRemoved(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	tok := s.connect(t, id, secret)
	_, tok = s.form("grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret)
	var d api.Download
	s.call(http.MethodPost, "/recordings/1/download", s.admin, "").decode(t, &d)
	sweep := func(after time.Duration) {
		t.Helper()
		s.clock.add(after)
		if err := s.removeExpired(t.Context(), s.clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	sweep(0)
	if count("access_tokens") != 2 || count("refresh_tokens") != 2 || count("auth_codes") != 1 {
		t.Error("what is good was removed")
	}
	sweep(accessLife + keepExpired - time.Second)
	s.get("/recordings/1/downloads/"+d.DownloadID, s.admin, 200)
	sweep(2 * time.Second)
	s.get("/recordings/1/downloads/"+d.DownloadID, s.admin, 404)
	if count("access_tokens") != 0 || count("refresh_tokens") != 1 || count("auth_codes") != 0 {
		t.Error("what has expired is still there")
	}
	if a, _ := s.form("grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret); a.status != 200 {
		t.Errorf("the unused refresh token is answered %d", a.status)
	}
}

// A queue of the version before gets its owners when it is opened.
func TestAnOlderQueueIsMigrated(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a, Sandbox: true, Hold: 1}, meeting(1))
	s.webhook(s.key("ann@acme.example"), "https://hooks.example/", `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`DROP INDEX deliveries_due`, `CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'pending'`,
		`ALTER TABLE deliveries DROP COLUMN owner`, `DELETE FROM goose_db_version WHERE version_id = 2`} {
		if _, err := s.store.db.W.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	if due := s.dueNow(); len(due) != 1 || due[0].owner != "ann@acme.example" {
		t.Errorf("due: %+v", due)
	}
}

// TestADownloadEndsWithItsRecording deletes a recording, as a rule does, while a download of it
// is completed.
func TestADownloadEndsWithItsRecording(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	attachRecording(t, a)
	s := newSandbox(t, Options{Archive: a})
	ann := s.key("ann@acme.example")
	var d api.Download
	s.call(http.MethodPost, "/recordings/1/download", ann, "").decode(t, &d)
	path := "/recordings/1/downloads/" + d.DownloadID
	if s.get(path, ann, 200).decode(t, &d); d.Status != api.DownloadCompleted {
		t.Fatalf("at first: %s", d.Status)
	}
	archivetest.Damage(t, filepath.Join(dir, "archive.db"), `DELETE FROM attachments`, `UPDATE meetings SET has_video = 0`)
	if s.get(path, ann, 200).decode(t, &d); d.Status != api.DownloadExpired {
		t.Errorf("without its recording: %s", d.Status)
	}
}

// TestARecordingThatIsCutOffIsLogged fetches a recording of a bucket that begins to answer and
// breaks off: the client cannot be told why, so that the log has to say it.
func TestARecordingThatIsCutOffIsLogged(t *testing.T) {
	testrun.SkipUnderRace(t)
	var isCut atomic.Bool
	bucket := s3test.Start(t).BreakingOff(t, &isCut)
	a, err := archive.Open(t.Context(), archive.Options{Dir: ArchiveDir(t), Create: true, MediaURL: bucket.URL("recordings", "p"), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	s := newSandbox(t, Options{Archive: a})
	attachRecording(t, a)
	var d api.Download
	ann := s.key("ann@acme.example")
	s.call(http.MethodPost, "/recordings/1/download", ann, "").decode(t, &d)
	s.get("/recordings/1/downloads/"+d.DownloadID, ann, 200).decode(t, &d)
	file, _, ok := d.File()
	if !ok {
		t.Fatalf("no file: %+v", d)
	}
	var log strings.Builder
	s.log = zerolog.New(zerolog.SyncWriter(&log))
	for _, isCutNow := range []bool{false, true} {
		isCut.Store(isCutNow)
		resp, err := http.Get(file.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if isLogged := strings.Contains(log.String(), "read recording"); (err != nil) != isCutNow || isLogged != isCutNow {
			t.Errorf("cut off %t: %v, and the log says %q", isCutNow, err, log.String())
		}
	}
}

// attachRecording has Ann's account show meeting 1, and its recording be stored.
func attachRecording(t *testing.T, a *archive.Archive) {
	t.Helper()
	if err := a.PutAccountPerson(t.Context(), "anns", "ann@acme.example"); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, meeting(1))
	blob, err := a.Media().Put(t.Context(), strings.NewReader("a recording"))
	if err != nil {
		t.Fatal(err)
	}
	blob.ContentType = "video/mp4"
	if err := a.AttachMedia(t.Context(), 1, archive.MediaVideo, blob); err != nil {
		t.Fatal(err)
	}
}
