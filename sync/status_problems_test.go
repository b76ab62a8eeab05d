package syncer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestAFillingDiskIsLoggedOnce has less and less room: the log says it once, and the
// status has the present numbers.
func TestAFillingDiskIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	s := &Syncer{log: zerolog.New(&log)}
	for free := range int64(5) {
		s.reportHealth("downloads", fmt.Errorf("fetch: %w", &lowDiskError{free: (9 - free) << 20, floor: 100 << 20}))
	}
	if n := strings.Count(log.String(), "does not work at present"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, &log)
	}
	if got := s.problems.list(); len(got) != 1 || !strings.Contains(got[0], "5 MB are free") {
		t.Errorf("%q", got)
	}
	s.reportHealth("downloads", nil)
	s.reportHealth("downloads", &lowDiskError{})
	if n := strings.Count(log.String(), "does not work at present"); n != 2 {
		t.Errorf("once more after it worked: %d times", n)
	}
}
