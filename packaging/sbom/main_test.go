package main

import (
	"os"
	"path/filepath"
	"testing"

	"minutebook/internal/testrun"
)

// TestLicencesOfGo lists this test itself, which is a program of Go.
func TestLicencesOfGo(t *testing.T) {
	testrun.SkipUnderRace(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	licenses := t.TempDir()
	if err := run(program, "1.0.0", "2.41", licenses); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(licenses, "std", "LICENSE")); err != nil || len(text) == 0 {
		t.Errorf("the licence of Go's library: %q, %v", text, err)
	}
}
