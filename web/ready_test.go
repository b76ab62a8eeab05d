package web

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestReadiness asks whether people can be served while the index is built, when all is
// well, after a byte of the index has flipped, and without an archive.
func TestReadiness(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := archivetest.Dir(t)
	s := openSite(t, dir, meeting(1, "One", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"The budget is too small."}`))
	wants := func(status int, body string) {
		t.Helper()
		if resp, got := s.get("/readyz"); resp.StatusCode != status || got != body {
			t.Errorf("readyz is %d %q, want %d %q", resp.StatusCode, got, status, body)
		}
	}
	wants(http.StatusServiceUnavailable, "archive: ok\nindex: is being built\n")
	s.catchUp()
	wants(http.StatusOK, "archive: ok\nindex: ok\n")

	if err := errors.Join(s.index.Close(), s.archive.Close()); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "index", "*", "*", "store", "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	for _, path := range segments {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/3] ^= 0x20
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = openSiteWith(t, archive.Options{Dir: dir})
	if err := s.index.Check(t.Context()); err == nil {
		t.Fatal("the damage is not noticed")
	}
	wants(http.StatusServiceUnavailable, "archive: ok\nindex: is damaged, and is being built anew\n")
	s.catchUp()
	wants(http.StatusOK, "archive: ok\nindex: ok\n")

	if err := s.archive.Close(); err != nil {
		t.Fatal(err)
	}
	wants(http.StatusServiceUnavailable, "archive: cannot be read\nindex: ok\n")
	if resp, body := s.get("/healthz"); resp.StatusCode != http.StatusServiceUnavailable || body != "the archive cannot be read\n" {
		t.Errorf("healthz is %d %q", resp.StatusCode, body)
	}
}
