package service

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestForgettingLeavesNothingInTheService(t *testing.T) {
	dir := t.TempDir()
	s := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true, Hold: 1},
		meeting(1, "default_summary", `{"markdown_formatted": "unmistakable words"}`))
	s.webhook(s.key("ann@acme.example"), "https://hooks.example/", `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.call(http.MethodPost, "/recordings/1/download", s.admin, ""); a.status != http.StatusAccepted {
		t.Fatal(a.status)
	}
	if held := mentions(t, dir, "unmistakable"); len(held) == 0 {
		t.Fatal("the words are in no file of the service before")
	}
	if _, err := s.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	if held := mentions(t, dir, "unmistakable"); len(held) > 0 {
		t.Errorf("the words are still in %v", held)
	}
	if list, err := s.Deliveries(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("queued: %+v, %v", list, err)
	}
	s.get("/recordings/1/transcript", s.admin, http.StatusNotFound)
	if got := s.walk("", s.admin); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
}

// mentions lists the files of service.db that hold the text.
func mentions(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "service.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			files = append(files, filepath.Base(name))
		}
	}
	return files
}
