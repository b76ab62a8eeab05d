package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestProgramHoldsTheTimeZones reads the program. Go looks for the zone of the variable TZ in
// the system's files and in the program alone, and the image, as a small Debian, has no files.
func TestProgramHoldsTheTimeZones(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if name := strings.Join([]string{"America", "Argentina", "ComodRivadavia"}, "/"); !bytes.Contains(program, []byte(name)) {
		t.Errorf("%s is not in the program", name)
	}
}
