package main

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/config"
	"minutebook/internal/testrun"
)

// TestALookMakesNoIndexWhole looks at the index of an archive that has none, with no time to
// make it; the next search completes it.
func TestALookMakesNoIndexWhole(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.Sample(t)
	counts, err := a.Counts(t.Context())
	if err != nil || a.Close() != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DataDir = a.Dir()
	app, err := openApp(t.Context(), &cfg, zerolog.Nop(), appOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	index, err := app.indexWithin(t.Context(), time.Nanosecond)
	if err != nil || index.Progress().Indexed != 0 || !index.Progress().Rebuilding {
		t.Fatalf("a look: %+v, %v", index.Progress(), err)
	}
	if index, err = app.Index(t.Context()); err != nil || index.Progress().Indexed != counts.Meetings {
		t.Errorf("a search: %+v of %d, %v", index.Progress(), counts.Meetings, err)
	}
}
