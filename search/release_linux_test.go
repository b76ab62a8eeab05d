package search

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// residentPages returns how many kB of mapped files with a suffix are in this program's
// memory, below a directory.
func residentPages(t *testing.T, dir, suffix string) (total int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skipf("the pages of this program cannot be read here: %v", err)
	}
	defer f.Close()
	counts := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		var kB int
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kB); n == 1 && counts {
			total += kB
		} else if first, _, _ := strings.Cut(line, " "); !strings.HasSuffix(first, ":") {
			counts = strings.Contains(line, dir) && strings.HasSuffix(line, suffix)
		}
	}
	return total
}

// TestReleasePages looks into the program's memory before and after, and searches again.
func TestReleasePages(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.close() // which writes the segments in memory to files
	h.open()
	h.catchUp()
	checkAnswers(h)
	if got := residentPages(t, h.dir, ".zap"); got == 0 {
		t.Error("no page of the index is in memory after a search")
	}
	if err := h.index.ReleasePages(); err != nil {
		t.Fatal(err)
	}
	if got := residentPages(t, h.dir, ".zap"); got != 0 {
		t.Errorf("%d kB of the index are still in memory", got)
	}
	checkAnswers(h)
	h.close()
	if err := h.index.ReleasePages(); err == nil {
		t.Error("a closed index has released its pages")
	}
	h.open()
}
