package clip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	c, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
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
	clip, err := c.Cut(t.Context(), path, 3*time.Second, 5*time.Second, true)
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

func TestCutIsBounded(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	for _, span := range [][2]time.Duration{{-1, 1}, {5, 5}, {0, MaxLength + 1}} {
		if _, err := c.Cut(t.Context(), path, span[0], span[1], true); !errors.Is(err, ErrSpan) {
			t.Errorf("%v: %v", span, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Cut(ctx, path, 0, time.Second, true); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
	for range maxAtOnce {
		c.slots <- struct{}{}
	}
	if _, err := c.Cut(t.Context(), path, 0, time.Second, true); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, tempPattern)); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestHostileRecordingLeadsNowhere cuts playlists that name another file.
func TestHostileRecordingLeadsNowhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	c, path := newCutter(t)
	for _, list := range []string{"ffconcat version 1.0\nfile " + filepath.Base(path) + "\n",
		"#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXTINF:60,\n" + path + "\n#EXT-X-ENDLIST\n"} {
		hostile := filepath.Join(c.dir, "hostile")
		if err := os.WriteFile(hostile, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if clip, err := c.Cut(t.Context(), hostile, 0, time.Second, true); err == nil {
			clip.Close()
			t.Errorf("a playlist is a recording: %.20q", list)
		}
	}
}

func TestCrashLeavesNoClip(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, strings.Replace(tempPattern, "*", "1", 1))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unfinished clip is left: %v", err)
	}
}
