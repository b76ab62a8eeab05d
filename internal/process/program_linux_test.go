package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestReleaseProgram gives the program's own pages back, and goes on.
func TestReleaseProgram(t *testing.T) {
	before := residentProgram(t)
	releaseProgram()
	after := residentProgram(t)
	t.Logf("%d kB of the program are resident, %d after", before, after)
	if after > before*3/4 {
		t.Errorf("%d kB of the program are resident, %d kB after they were given back", before, after)
	}
}

// residentProgram returns how much of the program's file is in memory, in kB.
func residentProgram(t *testing.T) (kilobytes int) {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("the mappings of this program cannot be read here: %v", err)
	}
	isOwn := false
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(fields[0], ":") {
			isOwn = fields[len(fields)-1] == own
		} else if isOwn && fields[0] == "Rss:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			kilobytes += n
		}
	}
	return kilobytes
}
