package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
	"minutebook/sample"
	"minutebook/search"
	syncer "minutebook/sync"
)

// site is the page over a real archive and index, with the sample's meetings.
type site struct {
	*httptest.Server
	t       testing.TB
	server  *server
	archive *archive.Archive
	index   *search.Index
	notes   *notes.DB
	ids     []int64 // of the sample's meetings, in its order
	now     atomic.Pointer[time.Time]
	status  any         // the daemon's answer
	shown   atomic.Bool // the daemon was told that a person sees all of it
}

// at is when the tests' readers look at the page.
var at = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

// newSite is a site whose index has caught up, with the sample's meetings unless
// others are given.
func newSite(t testing.TB, meetings ...json.RawMessage) *site {
	t.Helper()
	if meetings == nil {
		return newSampleSite(t)
	}
	s := newSiteBehind(t, meetings...)
	s.catchUp()
	return s
}

// newSiteBehind is a site whose index holds nothing yet.
func newSiteBehind(t testing.TB, meetings ...json.RawMessage) *site {
	t.Helper()
	return openSite(t, archivetest.Dir(t), meetings...)
}

// newSampleSite is a site with the sample's meetings, all indexed.
func newSampleSite(t testing.TB) *site {
	t.Helper()
	dir := t.TempDir()
	files, err := sampleArchive()
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := openSite(t, dir)
	for _, raw := range sample.All() {
		s.ids = append(s.ids, observe(t, 0, raw).RecordingID)
	}
	return s
}

// sampleArchive returns the files of an archive with the sample's meetings and of
// its index. Applying and indexing them costs more than most tests, so it is done
// once.
var sampleArchive = sync.OnceValues(func() (fstest.MapFS, error) {
	dir, err := os.MkdirTemp("", "minutebook-sample")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	var batch []archive.Observation
	for i, raw := range sample.All() {
		o, err := archive.FromMeeting("acme", archive.SourceList, at.Add(time.Duration(i)*time.Second), raw)
		if err != nil {
			return nil, err
		}
		batch = append(batch, o)
	}
	if _, err := a.Apply(ctx, batch); err != nil {
		return nil, err
	}
	if _, err := notes.Open(ctx, notes.Options{Archive: a}); err != nil {
		return nil, err
	}
	x, err := search.Open(ctx, search.Options{Archive: a, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(x.CatchUp(ctx), x.Close(), a.Close()); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	return files, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = &fstest.MapFile{Data: content, Mode: 0o600}
		return err
	})
})

// openSite is a site over the archive in dir, which is created if there is none;
// meetings are stored in it, and not indexed.
func openSite(t testing.TB, dir string, meetings ...json.RawMessage) *site {
	t.Helper()
	return openSiteWith(t, archive.Options{Dir: dir}, meetings...)
}

// openSiteWith is openSite with more of the archive's options.
func openSiteWith(t testing.TB, o archive.Options, meetings ...json.RawMessage) *site {
	t.Helper()
	o.Create, o.Logger = true, zerolog.Nop()
	ctx := context.Background()
	s := &site{t: t, status: &syncer.Status{}}
	s.now.Store(&at)
	var err error
	s.archive, err = archive.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.archive.Close() })
	if len(meetings) > 0 {
		s.store(meetings...)
	}
	if s.notes, err = notes.Open(ctx, notes.Options{Archive: s.archive, Now: func() time.Time { return *s.now.Load() }}); err != nil {
		t.Fatal(err)
	}
	s.index, err = search.Open(ctx, search.Options{Archive: s.archive, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.index.Close() })
	s.server, err = newServer(s.options())
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(withContract(t, s.server.handler()))
	t.Cleanup(s.Close)
	return s
}

// options returns the options of the site's page.
func (s *site) options() Options {
	return Options{Archive: s.archive, Index: s.index, Notes: s.notes, Logger: zerolog.New(zerolog.NewTestWriter(s.t)),
		Now: func() time.Time { return *s.now.Load() }, Location: time.UTC, Fetch: s.archive.RetryDownload, Hosts: []string{"notes.example"}, Identify: identifyTest,
		Status: func(_ context.Context, shown bool) (any, error) { s.shown.Store(shown); return s.status, nil }, Version: "test"}
}

// identifyTest takes the visitor from the request's own headers: Test-Person names the
// person's addresses, with commas, and Test-Admin makes an admin of the person. Without
// them it is the owner.
func identifyTest(r *http.Request) (Visitor, error) {
	emails := r.Header.Get("Test-Person")
	if emails == "" {
		return owner(), nil
	}
	return Visitor{Viewer: archive.ViewerWith(strings.Split(emails, ",")...), Admin: r.Header.Get("Test-Admin") != ""}, nil
}

// apply takes meetings into archive and index.
func (s *site) apply(meetings ...json.RawMessage) {
	s.t.Helper()
	s.store(meetings...)
	s.catchUp()
}

func (s *site) catchUp() {
	s.t.Helper()
	if err := s.index.CatchUp(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// store takes meetings into the archive alone.
func (s *site) store(meetings ...json.RawMessage) {
	s.t.Helper()
	var batch []archive.Observation
	for i, raw := range meetings {
		o := observe(s.t, i, raw)
		s.ids = append(s.ids, o.RecordingID)
		batch = append(batch, o)
	}
	if _, err := s.archive.Apply(context.Background(), batch); err != nil {
		s.t.Fatal(err)
	}
}

// observe returns a list's read of a meeting in the i-th second of the tests.
func observe(t testing.TB, i int, raw json.RawMessage) archive.Observation {
	t.Helper()
	o, err := archive.FromMeeting("acme", archive.SourceList, at.Add(time.Duration(i)*time.Second), raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// attachVideo makes the sample's video the recording of meetings.
func (s *site) attachVideo(ids ...int64) {
	s.t.Helper()
	video, contentType := sample.Video()
	blob, err := s.archive.Media().Put(context.Background(), video)
	if err != nil {
		s.t.Fatal(err)
	}
	blob.ContentType = contentType
	for _, id := range ids {
		if err := s.archive.AttachMedia(context.Background(), id, archive.MediaVideo, blob); err != nil {
			s.t.Fatal(err)
		}
	}
}

// get fetches an address of the site.
func (s *site) get(address string, header ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.URL+address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return exchange(s.t, s.Client(), req, header...)
}

// stay keeps a client at the answer that leads elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// exchange sends a request with headers and returns the answer with its body.
func exchange(t testing.TB, c *http.Client, req *http.Request, header ...string) (*http.Response, string) {
	t.Helper()
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// submit sends a form as a browser does, without following where the answer leads.
func (s *site) submit(address, form string, header ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.URL+address, strings.NewReader(form))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	stays := &http.Client{Transport: s.Client().Transport, CheckRedirect: stay}
	return exchange(s.t, stays, req, header...)
}

// position returns the position from which a page waits for changes.
func (s *site) position(address string, header ...string) string {
	s.t.Helper()
	_, body := s.get(address, header...)
	_, from, found := strings.Cut(body, `data-from="`)
	from, _, _ = strings.Cut(from, `"`)
	if !found || from == "" {
		s.t.Fatalf("%s names no position", address)
	}
	return from
}

// shows fetches a page and fails unless it holds all of the pieces.
func (s *site) shows(status int, address string, pieces ...string) string {
	s.t.Helper()
	resp, body := s.get(address)
	if resp.StatusCode != status {
		s.t.Errorf("%s: status %d, want %d", address, resp.StatusCode, status)
	}
	for _, p := range pieces {
		if !strings.Contains(body, p) {
			s.t.Errorf("%s does not hold %q", address, p)
		}
	}
	return body
}

// meeting is a Meeting of our own; more is added to its members.
func meeting(id int64, title, start, more string) json.RawMessage {
	if more != "" {
		more = "," + more
	}
	return json.RawMessage(fmt.Sprintf(`{"recording_id":%d,"title":%q,"created_at":%q,
		"recording_start_time":%q,"recorded_by":{"name":"Ana Ruiz","email":"ana@acme.example","team":"Ops"}%s}`,
		id, title, start, start, more))
}
