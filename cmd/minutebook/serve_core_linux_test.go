package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"minutebook/internal/testrun"
)

// TestACrashLeavesNoMemoryOnTheDisk starts a daemon where core files are allowed, as they
// are in many containers.
func TestACrashLeavesNoMemoryOnTheDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := start(t, "serve", "--create", "--data", t.TempDir())
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size +[01] `).Match(limits) {
		t.Errorf("the daemon may leave core files: %s, %v", limits, err)
	}
	p.stop()
}
