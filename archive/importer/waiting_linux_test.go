package importer

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// bytesRead is how many bytes this process has read.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the bytes that this process reads are not counted here: ", err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

const filmSize = 12 << 20

// putFilm writes a film of zeros.
func putFilm(t *testing.T, path string) {
	t.Helper()
	writeFiles(t, filepath.Dir(path), map[string]string{filepath.Base(path): "\x00\x00\x00\x18ftypmp42"})
	if err := os.Truncate(path, filmSize); err != nil {
		t.Fatal(err)
	}
}

// TestAFilmThatWaitsForRoomIsNotRead comes where the meeting has its sound already.
func TestAFilmThatWaitsForRoomIsNotRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := ticking(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.m4a": "\x00\x00\x00\x18ftypM4A sound"})
	w := NewWatcher(a, Options{}, dir)
	look(t, w)
	look(t, w)
	w.options.MinFree = 1 << 60
	putFilm(t, filepath.Join(dir, "talk.mp4"))
	before, named := bytesRead(t), 0
	for range 4 {
		named += len(look(t, w).Wrong)
	}
	if n := bytesRead(t) - before; n > filmSize/2 || named != 1 {
		t.Errorf("%d bytes are read, and it is named %d times", n, named)
	}
	w.options.MinFree = 0
	if r := look(t, w); r.Recordings != 1 {
		t.Errorf("with room: %+v", r)
	}
	w.options.MinFree = 1 << 60 // a recording that is here needs none
	writeFiles(t, dir, map[string]string{"talk.toml": "title = \"Talk\""})
	look(t, w)
	if r := look(t, w); len(r.Wrong) != 0 || r.Read != 1 {
		t.Errorf("with the recording: %+v", r)
	}
}

// TestAFilmThatWaitsForItsBucketIsNotRead has a bucket that refuses everything, and one that
// refuses the recordings alone.
func TestAFilmThatWaitsForItsBucketIsNotRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string]struct {
		method string
		reads  int64 // of the film, in as many looks
	}{"everything": {"", 0}, "recordings": {http.MethodPut, 8}} {
		t.Run(name, func(t *testing.T) {
			var away atomic.Bool
			server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if away.Load() && (c.method == "" || r.Method == c.method) {
						s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
						return
					}
					server.ServeHTTP(w, r)
				})
			})
			var later atomic.Int64
			a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), MediaURL: server.URL("recordings", "waits"),
				Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { a.Close() })
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT})
			putFilm(t, filepath.Join(dir, "talk.mp4"))
			away.Store(true)
			w := NewWatcher(a, Options{}, dir)
			before, named := bytesRead(t), ""
			for range 10 {
				for _, wrong := range look(t, w).Wrong {
					named += wrong.Error()
				}
			}
			if n := (bytesRead(t) - before) / filmSize; n > c.reads || strings.Count(named, "it cannot be stored") != 1 {
				t.Errorf("the film is read %d times; %s", n, named)
			}
			away.Store(false)
			later.Store(int64(storeRest))
			if r := look(t, w); r.Recordings != 1 {
				t.Errorf("once the bucket is well: %+v", r)
			}
		})
	}
}

// TestRecordingsWaitForRoomOnTheirOwnDisk has room on the disk of the databases alone, and then on
// that of the recordings.
func TestRecordingsWaitForRoomOnTheirOwnDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 16)
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), Now: time.Now,
		MediaURL: "file://" + disk.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT})
	putFilm(t, filepath.Join(dir, "talk.mp4"))
	for _, c := range []struct{ minFree, stored int64 }{{16<<20 - filmSize/2, 0}, {0, 1}} {
		r, err := ReadPath(t.Context(), a, Options{MinFree: c.minFree}, dir)
		if err != nil || r.Recordings != int(c.stored) || len(r.Wrong) != int(1-c.stored) {
			t.Errorf("with %d bytes to stay free: %+v, %v", c.minFree, r, err)
		}
	}
}
