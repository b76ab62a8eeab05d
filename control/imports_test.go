package control_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/importer"
	"minutebook/config"
	"minutebook/control"
	"minutebook/search"
)

const talk = "WEBVTT\n\n00:01.000 --> 00:03.000\n<v Ada>The pelican budget.\n"

// TestAWatchedFolderIsFound imports from a watched folder and from a path, each for the
// configured owner, and finds both.
func TestAWatchedFolderIsFound(t *testing.T) {
	a, folder, other := archivetest.New(t), t.TempDir(), t.TempDir()
	x, _ := withIndex(t, a)
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "a.vtt"), talk)
	write(filepath.Join(folder, "a.mp4"), "\x00\x00\x00\x18ftypmp42 film")
	write(filepath.Join(folder, "a.m4a"), "\x00\x00\x00\x18ftypM4A sound")
	write(filepath.Join(folder, "bad.vtt"), "x")
	write(filepath.Join(other, "b.vtt"), strings.Replace(talk, "The", "Our", 1))
	log := &lockedBuffer{}
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.New(log), Import: config.Import{Watch: folder, Owner: "ada@north.example"},
		Index: func(context.Context) (*search.Index, error) { return x, nil }}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); deps.WatchImports(ctx, nil, time.Millisecond) }()
	for !strings.Contains(log.String(), `"new":1`) || !strings.Contains(log.String(), "bad.vtt") {
		time.Sleep(time.Millisecond)
		if t.Context().Err() != nil {
			t.Fatal(log.String())
		}
	}
	stop()
	<-done
	if n := strings.Count(log.String(), "\n"); n != 3 || strings.Count(log.String(), "a.m4a") != 1 {
		t.Errorf("%d lines: %s", n, log)
	}
	r := callNoted[importer.Result](t, control.Operations(deps), "import", control.ImportRequest{Paths: []string{other}, VisibleTo: []string{"team:Sales"}})
	if r.New != 1 {
		t.Errorf("%+v", r)
	}
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"pelican", "recorded-by:ada@north.example", "speaker:Ada budget"} {
		answer, err := x.Search(t.Context(), search.Request{Query: query, Limit: 5, Viewer: archive.ViewerWith("ada@north.example")})
		if err != nil || len(answer.Meetings) != 2 {
			t.Errorf("%s: %+v, %v", query, answer, err)
		}
	}
	_, err := control.Call[importer.Result](t.Context(), control.Operations(deps), "import", control.ImportRequest{Paths: []string{other}, VisibleTo: []string{"Ben"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "--visible-to") {
		t.Error(err)
	}
}

// lockedBuffer is a buffer for a log of another goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAWrongPathStopsNoOther imports files of which one is not there, and one is no transcript.
func TestAWrongPathStopsNoOther(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	paths := []string{filepath.Join(dir, "away.vtt"), filepath.Join(dir, "lines.ndjson"), t.TempDir(), filepath.Join(dir, "film.mp4"), filepath.Join(dir, "talk.vtt")}
	for path, content := range map[string]string{paths[1]: "x\n", paths[3]: "x\n", paths[4]: talk} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := callNoted[importer.Result](t, control.Operations(control.Deps{Archive: a, Running: true, Logger: zerolog.Nop()}), "import", control.ImportRequest{Paths: paths})
	var wrong []string
	for _, w := range r.Wrong {
		wrong = append(wrong, w.File)
	}
	if r.New != 1 || strings.Join(wrong, " ") != strings.Join(paths[:4], " ") {
		t.Errorf("%+v", r)
	}
}
