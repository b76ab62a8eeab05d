package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"minutebook/archive/archivetest"
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
		all, wrong, err := new(lister).list(dir)
		if err != nil || len(all) != 4 || len(wrong) != 1 {
			t.Errorf("%+v, %v, %v", all, wrong, err)
		}
		for _, w := range wrong {
			add(w)
		}
		for _, f := range all {
			if _, err := readForeign(f); err != nil {
				add(err)
			} else if f.recording != "" {
				_, err := newRun(a, Options{}).attachFile(t.Context(), 1, f.recording)
				add(err)
			}
		}
		if before := stateOf(filepath.Join(dir, "b.vtt")); os.Geteuid() != 0 {
			if err := os.Chmod(filepath.Join(dir, "b.vtt"), 0o600); err != nil || stateOf(filepath.Join(dir, "b.vtt")) == before {
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

// TestALookAtAnUnchangedFolderOpensNothing has transcripts, another program's JSON, files
// that are refused and a folder's metadata. The archive is closed, so it is not asked.
func TestALookAtAnUnchangedFolderOpensNothing(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "b.json": `{"segments": [{"start": 1, "end": 2, "text": "pelican"}]}`,
		"c.json": `{"a": 1}`, "d.vtt": "WEBVTT\n\nx\ny\n", "e/meeting.toml": "", "e/f.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nIn a folder.\n", "g/meeting.toml": "", "h.vtt": ""})
	w := NewWatcher(a, Options{}, dir)
	r := look(t, w)
	r.Add(look(t, w))
	if r.New != 3 || len(r.Wrong) != 3 {
		t.Fatalf("%+v", r)
	}
	opens, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(opens)
	for _, folder := range []string{"", "e", "g"} {
		if _, err := unix.InotifyAddWatch(opens, filepath.Join(dir, folder), unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if r := look(t, w); r.Read != 0 || len(r.Wrong) != 0 {
		t.Errorf("%+v", r)
	}
	events := make([]byte, 1<<16)
	n, err := unix.Read(opens, events)
	for at := 0; at+unix.SizeofInotifyEvent <= n; {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[at]))
		if e.Mask&unix.IN_ISDIR == 0 {
			t.Errorf("opened %q", strings.TrimRight(string(events[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)]), "\x00"))
		}
		at += unix.SizeofInotifyEvent + int(e.Len)
	}
	if n <= 0 {
		t.Errorf("no directory was read: %v", err)
	}
}

// TestHostileNames has names with line breaks, of other encodings and as long as possible,
// pipes, folders with a transcript's name, and links out of the folder. Everything that is
// a file is taken once; errors name the place on one line.
func TestHostileNames(t *testing.T) {
	a, dir, outside := archivetest.New(t), t.TempDir(), t.TempDir()
	talk := func(words string) string { return "WEBVTT\n\n00:01.000 --> 00:02.000\n" + words + "\n" }
	good := []string{"new\nline.vtt", "inv\xff\xfealid.vtt", "-dash.vtt", strings.Repeat("x", 251) + ".vtt", "\x1b[2J.vtt", "folder.vtt/in.vtt"}
	for i, name := range good {
		writeFiles(t, dir, map[string]string{name: talk(fmt.Sprint("talk ", i))})
	}
	writeFiles(t, dir, map[string]string{"bad\x1b[2J\nname.vtt": "WEBVTT\n\nx\ny\n", "up/meeting.toml": `transcript = "../-dash.vtt"`, "up/a.vtt": talk("up")})
	writeFiles(t, outside, map[string]string{"secret.vtt": talk("secret"), "folder/secret.vtt": talk("secret")})
	for _, name := range []string{"pipe.vtt", "pipe.json"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret.vtt", "folder"} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, "link "+name)); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWatcher(a, Options{}, dir)
	r := look(t, w)
	r.Add(look(t, w))
	imported, err := ReadPath(t.Context(), a, Options{}, dir)
	if err != nil || r.New != len(good) || imported.Read != len(good) || imported.New != 0 {
		t.Errorf("%+v; %+v, %v", r, imported, err)
	}
	for _, wrong := range append(r.Wrong, imported.Wrong...) {
		if text := wrong.Error(); strings.ContainsAny(text, "\n\x1b") || !strings.Contains(text, "name.vtt") && !strings.Contains(text, "meeting.toml") &&
			!strings.Contains(text, "pipe") && !strings.Contains(text, "link") {
			t.Errorf("%q", text)
		}
	}
	// Changed between the listing and the opening:
	for name, want := range map[string]error{"pipe.vtt": errNoFile, "link secret.vtt": errLink} {
		_, err := readForeign(foreign{transcript: filepath.Join(dir, name)})
		if wrong, ok := errors.AsType[Wrong](err); !ok || !errors.Is(wrong, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Named directly, a link is followed.
	if r, err := ReadPath(t.Context(), a, Options{}, filepath.Join(dir, "link secret.vtt")); err != nil || r.New != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ReadPath(t.Context(), a, Options{}, filepath.Join(dir, "pipe.vtt")); !errors.Is(err, errNoFile) {
		t.Errorf("a pipe: %v", err)
	}
}

// TestAFolderWithOneUnreadableFileIsImported has JSON that may not be read, JSON in a folder
// that may not be entered, and compressed JSON that ends too early.
func TestAFolderWithOneUnreadableFileIsImported(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	for path := dir; path != os.TempDir() && len(path) > 1; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, dir, map[string]string{"a.json": "{}", "b.ndjson": line(archivetest.Meeting(1, "a", "b")), "c.vtt": talkVTT, "d.ndjson.gz": "\x1f\x8b\x08", "e/e.vtt": talkVTT})
	for name, mode := range map[string]os.FileMode{"a.json": 0, "b.ndjson": 0o644, "c.vtt": 0o644, "d.ndjson.gz": 0o644, "e": 0o744} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "e"), 0o700)
	asNobody(t, func() {
		r, err := ReadPath(t.Context(), a, Options{}, dir)
		if err != nil || r.New != 2 || len(r.Wrong) != 3 {
			t.Errorf("%+v, %v", r, err)
		}
		w := NewWatcher(a, Options{}, dir)
		look(t, w)
		if r := look(t, w); r.Read != 1 || len(r.Wrong) != 2 {
			t.Errorf("watched: %+v", r)
		}
	})
}

// TestALeasedFileIsTakenLater has files that another program has leased for writing, such as a
// file server: to open them fails, and they do not change when it ends.
func TestALeasedFileIsTakenLater(t *testing.T) {
	for _, leased := range []string{"a.vtt", "a.json", folderMetadata} {
		t.Run(leased, func(t *testing.T) {
			a, dir := ticking(t), t.TempDir()
			files := map[string]string{"a.vtt": talkVTT}
			switch leased {
			case "a.json":
				files = map[string]string{leased: `{"segments": [{"start": 1, "end": 2, "text": "pelican"}]}`}
			case folderMetadata:
				files[leased] = talkTOML
			}
			writeFiles(t, dir, files)
			f, err := os.OpenFile(filepath.Join(dir, leased), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
				t.Skip("this file system has no leases: ", err)
			}
			w := NewWatcher(a, Options{}, dir)
			var named []Wrong
			for range 4 {
				named = append(named, look(t, w).Wrong...)
			}
			if len(named) != 1 || !strings.HasSuffix(named[0].File, leased) {
				t.Errorf("a leased file: %v", named)
			}
			f.Close()
			look(t, w)
			look(t, w)
			if n := len(allRows(t, a)); n != 1 {
				t.Errorf("after the lease %d meetings", n)
			}
			open, err := a.Failures(t.Context(), true)
			if err != nil || len(open) != 0 {
				t.Errorf("failures %v, %v", open, err)
			}
		})
	}
}
