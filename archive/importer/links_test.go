package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"minutebook/archive/archivetest"
)

// TestLinksAndPipesAreNamed puts links and a pipe into a folder, beside a meeting: the
// command and the watcher name each entry that could be expected to be read, once.
func TestLinksAndPipesAreNamed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "notes.txt": "x"})
	writeFiles(t, elsewhere, map[string]string{"b.vtt": talkVTT, "b.ndjson": ""})
	for name, target := range map[string]string{
		"b.vtt": filepath.Join(elsewhere, "b.vtt"), "a.mp4": "nowhere", "more": elsewhere, "circle": "circle", "self": ".",
		"more.txt": "notes.txt", ".hidden.vtt": "a.vtt", // not named
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe.srt"), 0o600); err != nil {
		t.Fatal(err)
	}
	const link, noFile = "it cannot be read: it is a link, and links are not followed", "it cannot be read: it is no file"
	want := []string{"a.mp4: " + link, "b.vtt: " + link, "circle: " + link, "more: " + link, "pipe.srt: " + noFile, "self: " + link}
	reasons := func(r Result) (all []string) {
		for _, w := range r.Wrong {
			all = append(all, fmt.Sprintf("%s: %v", filepath.Base(w.File), w.Err))
		}
		slices.Sort(all)
		return all
	}
	w, watched := NewWatcher(archivetest.New(t), Options{}, dir), Result{}
	for range 4 {
		watched.Add(look(t, w))
	}
	if got := reasons(watched); !slices.Equal(got, want) || watched.New != 1 {
		t.Errorf("the watcher named %q, %+v", got, watched)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "b.ndjson"), filepath.Join(dir, "b.ndjson")); err != nil {
		t.Fatal(err)
	}
	r, err := ReadPath(t.Context(), archivetest.New(t), Options{}, dir)
	if got := reasons(r); err != nil || !slices.Equal(got, slices.Insert(slices.Clone(want), 1, "b.ndjson: "+link)) || r.New != 1 {
		t.Errorf("the command named %q, %+v, %v", got, r, err)
	}
}
