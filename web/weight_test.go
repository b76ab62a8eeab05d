package web

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// load returns how many bytes of an address and of everything that it leads the browser to
// load come over the wire, without those that were loaded before.
func (s *site) load(address string, loaded map[string]bool) (bytes int) {
	s.t.Helper()
	if loaded[address] {
		return 0
	}
	loaded[address] = true
	resp, body := s.get(address, "Accept-Encoding", "gzip")
	if resp.StatusCode != 200 {
		s.t.Fatalf("%s: %s", address, resp.Status)
	}
	bytes = len(body)
	_, plain := s.get(address)
	for _, found := range regexp.MustCompile(`(?:<link rel="(?:preload|stylesheet|icon)"[^>]* href|<script[^>]* src)="([^"]+)"|(?m)^import [^"\n]*"([^"]+)"`).FindAllStringSubmatch(plain, -1) {
		next := found[1] + found[2]
		if !strings.HasPrefix(next, "/") {
			next = path.Join(path.Dir(address), next)
		}
		bytes += s.load(next, loaded)
	}
	return bytes
}

// TestPagesAreLight adds the bytes of the first page up, with fonts, style and scripts, and
// of the pages after it.
func TestPagesAreLight(t *testing.T) {
	s := newSite(t)
	loaded := map[string]bool{}
	first := s.load("/", loaded)
	t.Logf("the first page: %d bytes", first)
	if len(loaded) < 6 || first > 100_000 {
		t.Errorf("the first page takes %d bytes in %d files, more than 100,000, or the test looks at too few", first, len(loaded))
	}
	for _, address := range []string{"/?q=battery", fmt.Sprintf("/meetings/%d?q=battery", s.search("battery")), "/people", "/actions", "/calendar", "/now", "/trends?q=battery", "/status", "/saved", "/help"} {
		bytes := s.load(address, loaded)
		t.Logf("%s: %d bytes", address, bytes)
		if bytes > 30_000 {
			t.Errorf("%s takes %d bytes, more than 30,000", address, bytes)
		}
	}
}
