package backup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestNothingIsPrunedThatARepairGaveUp loses a recording, or a transcript, and repairs without a
// backup. The generation that has it stays until the content is back, its meeting is forgotten, or
// a person accepts the loss.
func TestNothingIsPrunedThatARepairGaveUp(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const transcript = `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id = (SELECT revision_id FROM parts WHERE recording_id = 1 AND part = 'transcript')`
	settle := map[string]func(*testing.T, *archive.Archive) Options{
		"comes back": func(t *testing.T, a *archive.Archive) Options {
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said by nobody else"))
			archivetest.Attach(t, a, 1, "moving pictures")
			return Options{}
		},
		"is forgotten": func(t *testing.T, a *archive.Archive) Options {
			_, err := a.Forget(t.Context(), 1, "asked for")
			must(t, err)
			return Options{}
		},
		"is accepted": func(*testing.T, *archive.Archive) Options { return Options{AcceptFewer: true} },
	}
	for part, damage := range map[string]func(*testing.T, *archive.Archive, string){
		"recording":  func(t *testing.T, a *archive.Archive, sha string) { must(t, os.Remove(blobPath(a, sha))) },
		"transcript": func(t *testing.T, a *archive.Archive, _ string) { archivetest.Damage(t, mainDB(a), transcript) },
	} {
		for ending, settle := range settle {
			t.Run(part+" "+ending, func(t *testing.T) {
				t.Parallel()
				a, dest := archivetest.New(t), t.TempDir()
				archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said by nobody else"), archivetest.Meeting(2, "T", "said"))
				b := archivetest.Attach(t, a, 1, "moving pictures")
				backUp(t, a, dest, Options{Keep: 1})
				damage(t, a, b.SHA256)
				if v, damages := verify(t, a, archive.VerifyOptions{Repair: true}); v.Lost == 0 {
					t.Fatalf("nothing is lost: %v", damages)
				}
				for range 2 {
					r := backUp(t, a, dest, Options{Keep: 1})
					if len(r.Pruned) > 0 || len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0], "generation-000001 may have") || !strings.Contains(r.Doubts[0], part+" of meeting 1") {
						t.Errorf("pruned %v, doubts %v", r.Pruned, r.Doubts)
					}
				}
				o := settle(t, a)
				o.Keep = 1
				if r := backUp(t, a, dest, o); len(r.Pruned) != 3 || len(r.Doubts) > 0 {
					t.Errorf("then pruned %v, doubts %v", r.Pruned, r.Doubts)
				}
			})
		}
	}
}

// TestTheNewestRecordingsStay makes backups without recordings after those with them.
func TestTheNewestRecordingsStay(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	b := archivetest.Attach(t, a, 1, "moving pictures")
	backUp(t, a, dest, Options{})
	backUp(t, a, dest, Options{})
	for range 3 {
		r := backUp(t, a, dest, Options{Keep: 1, WithoutMedia: true})
		if len(r.Spared) != 1 || !strings.Contains(r.Spared[0], "generation-000002 stays") {
			t.Errorf("%+v", r)
		}
		if got, want := generationNames(t, dest), []string{"generation-000002", r.Generation}; !slices.Equal(got, want) {
			t.Errorf("generations %v; want %v", got, want)
		}
	}
	if r := backUp(t, a, dest, Options{Keep: 1}); len(r.Pruned) != 2 || len(r.Spared) > 0 || !archivetest.Exists(filepath.Join(dest, "media", b.SHA256[:2], b.SHA256)) {
		t.Errorf("with recordings again: %+v", r)
	}
}
