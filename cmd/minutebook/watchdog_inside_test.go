package main

import (
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// TestTheWatchdogAsksTheDatabase takes the database from an archive.
func TestTheWatchdogAsksTheDatabase(t *testing.T) {
	t.Parallel()
	a, err := archive.Open(t.Context(), archive.Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d := &daemon{application: &application{archive: a}}
	if err := d.answers(t.Context()); err != nil {
		t.Error(err)
	}
	if err := a.DB().R.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.answers(t.Context()); err == nil {
		t.Error("an archive that cannot be read is not noticed")
	}
}
