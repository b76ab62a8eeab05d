package web

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
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

// TestLongMeetingIsLight loads a meeting of 5,000 entries, of words in an order by chance:
// repeated sentences would be compressed too well.
func TestLongMeetingIsLight(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	_, text := s.get("/meetings/" + itoa(s.ids[0]) + "/transcript.txt")
	vocabulary, chance := strings.Fields(text), rand.New(rand.NewPCG(1, 1))
	var entries []string
	for i := range 5000 {
		words := make([]string, 5+chance.IntN(15))
		for k := range words {
			words[k] = vocabulary[chance.IntN(len(vocabulary))]
		}
		entries = append(entries, fmt.Sprintf(`{"speaker":{"display_name":"Speaker %d"},"text":%q,"timestamp":%q}`,
			chance.IntN(4), strings.Join(words, " "), api.FormatOffset(time.Duration(i)*2*time.Second)))
	}
	s.apply(meeting(1, "A long meeting", "2026-06-30T08:00:00Z", `"transcript":[`+strings.Join(entries, ",")+`]`))
	resp, body := s.get("/meetings/1?q=we", "Accept-Encoding", "gzip")
	t.Logf("%d bytes", len(body))
	if resp.StatusCode != 200 || len(body) > 300_000 {
		t.Errorf("%s with %d bytes, more than 300,000", resp.Status, len(body))
	}
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

// TestFontsOfAFamilyHaveTheSameWeights reads the style sheet: a browser takes the files
// of one range of weights alone, so that bold letters come from another font where the
// file of rare letters is bolder than the file of all others.
func TestFontsOfAFamilyHaveTheSameWeights(t *testing.T) {
	testrun.SkipUnderRace(t)
	sheet, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]string{}
	for _, face := range regexp.MustCompile(`@font-face \{ font-family: ([^;]+);.*?font-weight: ([^;]+);`).FindAllStringSubmatch(string(sheet), -1) {
		if first, ok := weights[face[1]]; ok && first != face[2] {
			t.Errorf("%s has files for the weights %s and for %s", face[1], first, face[2])
		}
		weights[face[1]] = face[2]
	}
	if len(weights) != 2 {
		t.Errorf("fonts %v", weights)
	}
}
