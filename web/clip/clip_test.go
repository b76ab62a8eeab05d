package clip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/sample"
)

// newCutter returns a cutter and the sample's recording.
func newCutter(t *testing.T) (c *Cutter, path string) {
	t.Helper()
	testrun.Program(t, "ffmpeg")
	dir := t.TempDir()
	c = New(dir)
	video, _ := sample.Video()
	content, err := io.ReadAll(video)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "recording")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// TestClipBeginsAndEndsWhereItWasAsked cuts between the key frames of a film of one
// picture a second.
func TestClipBeginsAndEndsWhereItWasAsked(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	clip, err := c.Cut(t.Context(), Source{Path: path}, 3*time.Second, 5*time.Second, true)
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	content, err := io.ReadAll(clip)
	if err != nil || !bytes.Contains(content[:min(64, len(content))], []byte("ftyp")) {
		t.Fatalf("the clip is %d bytes, %v", len(content), err)
	}
	cut := filepath.Join(t.TempDir(), "clip.mp4")
	if err := os.WriteFile(cut, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testrun.Program(t, "ffprobe"), "-v", "error", "-show_entries", "format=duration,start_time", "-of", "csv=p=0", cut).Output()
	if err != nil {
		t.Fatalf("the clip cannot be read: %v", err)
	}
	start, length, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	if n, err := strconv.ParseFloat(length, 64); err != nil || n < 1.9 || n > 2.1 {
		t.Errorf("the clip takes %s s, want 2", length)
	}
	if n, err := strconv.ParseFloat(start, 64); err != nil || n < -0.1 || n > 0.1 {
		t.Errorf("the clip begins at %s, want 0", start)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, tempPattern)); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// countingFile counts the bytes that are read, and fails once it has read as many as it may.
type countingFile struct {
	*os.File
	read *atomic.Int64
	most int64
}

var errAway = errors.New("the store is away")

func (f countingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if f.read.Add(int64(n)) > f.most {
		return 0, errAway
	}
	return n, err
}

// TestClipOfARecordingWithoutAFile cuts a recording of which ffmpeg reads parts, and one
// that cannot be read to its end: there is no clip that is too short.
func TestClipOfARecordingWithoutAFile(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]error{10 * info.Size(): nil, info.Size() / 2: errAway, 0: errAway} {
		var read atomic.Int64
		source := Source{Open: func(context.Context) (io.ReadSeekCloser, error) {
			f, err := os.Open(path)
			return countingFile{f, &read, most}, err
		}}
		clip, err := c.Cut(t.Context(), source, 3*time.Second, 5*time.Second, true)
		if !errors.Is(err, want) || want != nil && !errors.Is(err, ErrRead) {
			t.Errorf("with %d bytes: %v", most, err)
		}
		if err == nil {
			if content, err := io.ReadAll(clip); err != nil || !bytes.Contains(content[:min(64, len(content))], []byte("ftyp")) {
				t.Errorf("the clip is %d bytes, %v", len(content), err)
			}
			clip.Close()
		}
	}
}

func TestCutIsBounded(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	for _, span := range [][2]time.Duration{{-1, 1}, {5, 5}, {0, MaxLength + 1}} {
		if _, err := c.Cut(t.Context(), Source{Path: path}, span[0], span[1], true); !errors.Is(err, ErrSpan) {
			t.Errorf("%v: %v", span, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Cut(ctx, Source{Path: path}, 0, time.Second, true); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
	for range maxAtOnce {
		c.slots <- struct{}{}
	}
	if _, err := c.Cut(t.Context(), Source{Path: path}, 0, time.Second, true); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, tempPattern)); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestHostileRecordingLeadsNowhere cuts playlists that name another file or address.
func TestHostileRecordingLeadsNowhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	for _, entry := range []string{path, filepath.Base(path), "http://" + offerHost + "/"} {
		for _, list := range []string{"ffconcat version 1.0\nfile " + entry + "\n",
			"#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXTINF:60,\n" + entry + "\n#EXT-X-ENDLIST\n"} {
			hostile := filepath.Join(c.dir, "hostile")
			if err := os.WriteFile(hostile, []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
			open := func(context.Context) (io.ReadSeekCloser, error) { return os.Open(hostile) }
			for _, source := range []Source{{Path: hostile}, {Open: open}} {
				if clip, err := c.Cut(t.Context(), source, 0, time.Second, true); err == nil {
					clip.Close()
					t.Errorf("a playlist is a recording: %.20q", list)
				}
			}
		}
	}
}

// TestOnlyFfmpegMayReadTheRecording looks at the arguments that every user of the machine
// sees while a clip is cut, and asks for the recording as such a user would.
func TestOnlyFfmpegMayReadTheRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	c.program = filepath.Join(c.dir, "program")
	script := "#!/bin/sh\necho \"$@\" >arguments\necho $http_proxy >made\nmv made proxy\nuntil test -e end; do sleep 0.01; done\n"
	if err := os.WriteFile(c.program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cut := make(chan error)
	go func() {
		_, err := c.Cut(t.Context(), Source{Open: func(context.Context) (io.ReadSeekCloser, error) { return os.Open(path) }}, 0, time.Second, true)
		cut <- err
	}()
	read := func(name string) string {
		for {
			content, err := os.ReadFile(filepath.Join(c.dir, name))
			if err == nil {
				return strings.TrimSpace(string(content))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	proxy, err := url.Parse(read("proxy"))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := proxy.User.Password()
	if arguments := read("arguments"); password == "" || strings.Contains(arguments, password) || strings.Contains(arguments, proxy.Port()) {
		t.Errorf("the arguments are %s", arguments)
	}
	for user, want := range map[*url.Userinfo]int{proxy.User: 200, nil: 407, url.UserPassword("ffmpeg", "guess"): 407} {
		through := *proxy
		through.User = user
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&through), DisableKeepAlives: true}}
		resp, err := client.Get("http://" + offerHost + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("as %v: %s, want %d", user, resp.Status, want)
		}
	}
	if resp, err := http.Get("http://" + proxy.Host + "/"); err != nil || resp.StatusCode != 407 {
		t.Errorf("without a proxy: %v, %v", resp, err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-cut
}

func TestCrashLeavesNoClip(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := filepath.Join(t.TempDir(), "minutes [team]")
	left := filepath.Join(dir, strings.Replace(tempPattern, "*", "1", 1))
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := DeleteUnfinished(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unfinished clip is left: %v", err)
	}
}
