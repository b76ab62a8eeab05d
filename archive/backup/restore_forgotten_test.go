package backup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/residue"
)

// TestTheFormerDataDirectoryKnowsWhatWasForgotten restores a backup that no backup has
// told that a meeting was forgotten, in the presence of the former data directory.
func TestTheFormerDataDirectoryKnowsWhatWasForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, a *archive.Archive, o *RestoreOptions)
		moved   bool   // nobody uses the former data directory
		back    bool   // the meeting is restored
		fails   string // the restore
	}{
		"in use": {prepare: func(*testing.T, *archive.Archive, *RestoreOptions) {}},
		"moved aside": {moved: true, prepare: func(t *testing.T, a *archive.Archive, o *RestoreOptions) {
			o.Dir = a.Dir()
			must(t, a.Close())
			must(t, os.Rename(o.Dir, o.Dir+".old"))
		}},
		"named": {moved: true, prepare: func(t *testing.T, a *archive.Archive, o *RestoreOptions) {
			must(t, a.Close())
			o.OldData = []string{filepath.Join(t.TempDir(), "a", "b")}
			must(t, os.MkdirAll(filepath.Dir(o.OldData[0]), 0o700))
			must(t, os.Rename(a.Dir(), o.OldData[0]))
		}},
		"damaged": {back: true, prepare: func(t *testing.T, a *archive.Archive, _ *RestoreOptions) {
			must(t, a.Close())
			must(t, os.WriteFile(mainDB(a), []byte("not a database, but long enough to look like one"), 0o600))
		}},
		"of another archive": {fails: "another archive", prepare: func(t *testing.T, _ *archive.Archive, o *RestoreOptions) {
			o.OldData = []string{archivetest.New(t).Dir()}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			a := archivetest.Open(t, data)
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "zebrafish"), archivetest.Meeting(2, "T", "said"))
			dest := filepath.Join(t.TempDir(), "backups")
			backUp(t, a, dest, Options{})
			must(t, os.Rename(dest, dest+"-unplugged"))
			if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
				t.Fatal(err)
			}
			must(t, os.Rename(dest+"-unplugged", dest))
			o := RestoreOptions{From: dest, Dir: filepath.Join(filepath.Dir(data), "back")}
			c.prepare(t, a, &o)
			if c.fails != "" {
				if _, err := Restore(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("restored: %v", err)
				}
				return
			}
			aside := data
			switch {
			case len(o.OldData) > 0:
				aside = o.OldData[0]
			case c.moved:
				aside += ".old"
			}
			was := archivetest.Tree(t, aside)
			back := restored(t, o)
			if _, err := back.Row(t.Context(), 1); errors.Is(err, archive.ErrForgotten) == c.back {
				t.Errorf("the forgotten meeting: %v", err)
			}
			if _, damages := verify(t, back, archive.VerifyOptions{}); !c.back && !strings.Contains(fmt.Sprint(damages), "forgetting it is not finished: the daemon goes on, or verify --repair") {
				t.Errorf("verify says %v", damages)
			}
			must(t, back.FinishForgetting(t.Context()))
			if files := residue.Find(t, "zebrafish", o.Dir); !c.back && files != nil {
				t.Errorf("it is in %v", files)
			}
			if all, _, err := back.Tombstones(t.Context()); err != nil || !c.back && !slices.Equal(all, []int64{1}) {
				t.Errorf("tombstones %v, %v", all, err)
			}
			if after := archivetest.Tree(t, aside); c.moved && !maps.Equal(was, after) {
				t.Errorf("the former data directory has changed from %v to %v", was, after)
			}
		})
	}
}

// A copy by VACUUM once kept bytes of its first rows in the unused parts of its pages,
// where no later erasure reached them.
func TestNothingIsLeftOfAMeetingForgottenAfterARestore(t *testing.T) {
	t.Parallel()
	a := archivetest.New(t)
	for id := range int64(40) {
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id+1, fmt.Sprintf("zebrafish %d", id), strings.Repeat("said ", 30)))
	}
	dest := filepath.Join(t.TempDir(), "backups")
	backUp(t, a, dest, Options{})
	b := restored(t, RestoreOptions{From: dest})
	for id := range int64(40) {
		if _, err := b.Forget(t.Context(), id+1, "asked for"); err != nil {
			t.Fatal(err)
		}
	}
	if files := residue.Find(t, "zebrafish", b.Dir()); files != nil {
		t.Errorf("bytes are left in %q", files)
	}
}
