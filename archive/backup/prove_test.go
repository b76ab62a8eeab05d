package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/testrun"
)

// TestProve restores the newest generation for a try: as it is, encrypted with and
// without the key, and damaged.
func TestProve(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.Sample(t)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	id, err := age.GenerateX25519Identity()
	must(t, err)
	plain, sealed, scratch := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "scratch")
	backUp(t, a, plain, Options{})
	backUp(t, a, sealed, Options{Recipients: []age.Recipient{id.Recipient()}})
	for _, c := range []struct {
		from     string
		keys     []age.Identity
		restored bool
	}{{plain, nil, true}, {sealed, nil, false}, {sealed, []age.Identity{id}, true}} {
		p, err := Prove(t.Context(), ProofOptions{From: c.from, Scratch: scratch, OldData: a.Dir(), Identities: c.keys, Now: time.Now})
		if err != nil || p.Restored != c.restored || p.Generation != "generation-000001" || p.Meetings == 0 {
			t.Errorf("%s: %+v, %v", c.from, p, err)
		}
		if _, err := os.Stat(scratch); !os.IsNotExist(err) {
			t.Errorf("the scratch directory is still there: %v", err)
		}
	}
	g, err := generation.Find(t.Context(), plain, "")
	must(t, err)
	for _, f := range g.Files {
		if filepath.Dir(f.Path) != g.Name {
			must(t, os.Truncate(filepath.Join(plain, f.Path), 1))
		}
	}
	if _, err := Prove(t.Context(), ProofOptions{From: plain, Scratch: scratch, OldData: a.Dir(), Now: time.Now}); err == nil {
		t.Error("a backup with truncated recordings is taken for good")
	}
}
