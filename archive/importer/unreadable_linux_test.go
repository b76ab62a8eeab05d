package importer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody calls fn with the rights of a user who owns nothing, also where tests run as
// root.
func asNobody(t *testing.T, fn func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0) }()
	}
	fn()
}

// TestUnreadableFilesAreNamedAndTheRestIsListed has a folder, a transcript, metadata and a
// recording that may not be read, among others that may.
func TestUnreadableFilesAreNamedAndTheRestIsListed(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	for path := dir; path != os.TempDir() && len(path) > 1; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, dir, map[string]string{"good.vtt": talkVTT, "secret/a.vtt": talkVTT, "b.vtt": talkVTT, "c.vtt": talkVTT, "c.toml": "", "d.vtt": talkVTT, "d.mp4": "moving pictures"})
	for _, name := range []string{"good.vtt", "c.vtt", "d.vtt"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	closed := []string{"secret", "b.vtt", "c.toml", "d.mp4"}
	for _, name := range closed {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "secret"), 0o700)
	names := map[string]bool{}
	add := func(err error) {
		var wrong Wrong
		if !errors.As(err, &wrong) || !strings.HasSuffix(wrong.Error(), ": it cannot be read: permission denied") {
			t.Errorf("%v names no file", err)
		}
		names[filepath.Base(wrong.File)] = true
	}
	asNobody(t, func() {
		all, wrong, err := listForeign(dir)
		if err != nil || len(all) != 4 || len(wrong) != 1 {
			t.Errorf("%+v, %v, %v", all, wrong, err)
		}
		for _, w := range wrong {
			add(w)
		}
		for _, f := range all {
			if _, err := (&Options{}).readForeign(f); err != nil {
				add(err)
			} else if f.recording != "" {
				_, err := newRun(a, Options{}).attachFile(t.Context(), 1, f.recording)
				add(err)
			}
		}
		if before := signatureOf([]string{filepath.Join(dir, "b.vtt")}); os.Geteuid() != 0 {
			if err := os.Chmod(filepath.Join(dir, "b.vtt"), 0o600); err != nil || signatureOf([]string{filepath.Join(dir, "b.vtt")}) == before {
				t.Errorf("a file that may be read now is as before, %v", err)
			}
		}
	})
	for _, name := range closed {
		if !names[name] {
			t.Errorf("%s is not named: %v", name, names)
		}
	}
}

// TestALinkToTheFolderIsFollowed watches and imports a folder by a symbolic link to it.
func TestALinkToTheFolderIsFollowed(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"in/a.vtt": talkVTT, "in/sub/b.vtt": "WEBVTT\n\n00:00.000 --> 00:01.000\nAnother talk.\n"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("in", link); err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(a, Options{}, link)
	look(t, w)
	if r := look(t, w); r.New != 2 {
		t.Errorf("watched: %+v", r)
	}
	if r := importPath(t, a, link); r.Read != 2 {
		t.Errorf("imported: %+v", r)
	}
	again := NewWatcher(a, Options{}, filepath.Join(dir, "in"))
	look(t, again)
	if r := look(t, again); r.Read != 0 {
		t.Errorf("the folder itself: %+v", r)
	}
}
