package backup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestRepairDeletesNothing loses rows to which others refer, and repairs: rows whose
// bytes exist come back, the others are named and their bytes put aside.
func TestRepairDeletesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const transcript = `(SELECT revision_id FROM parts WHERE recording_id = 1 AND part = 'transcript')`
	for name, c := range map[string]struct {
		damage  []string
		from    bool
		outcome string // in one of the lines
		lost    int
		back    bool
		aside   string // begins the name of a file in damaged
	}{
		"a current version's row":       {[]string{`DELETE FROM revisions WHERE id = ` + transcript}, false, "brought back from its own bytes", 0, true, ""},
		"all rows of versions":          {[]string{`DELETE FROM revisions`}, false, "brought back from its own bytes", 1, true, "0--1000"},
		"an earlier version's row":      {[]string{`DELETE FROM revisions WHERE id = 1000`}, false, "lost version 1000", 1, true, "0--1000"},
		"the same, and a backup":        {[]string{`DELETE FROM revisions WHERE id = 1000`}, true, "brought back from ", 0, true, ""},
		"a version's row and bytes":     {[]string{`DELETE FROM bodies WHERE revision_id = ` + transcript, `DELETE FROM revisions WHERE id = ` + transcript}, false, `lost transcript of "Weekly"`, 1, false, "1-rows-"},
		"both, and a backup":            {[]string{`DELETE FROM bodies WHERE revision_id = ` + transcript, `DELETE FROM revisions WHERE id = ` + transcript}, true, "brought back from ", 0, true, ""},
		"the row and damaged bytes":     {[]string{`UPDATE bodies SET body = zeroblob(9) WHERE revision_id = ` + transcript, `DELETE FROM revisions WHERE id = ` + transcript}, false, `lost transcript of "Weekly"`, 1, false, "1-transcript-"},
		"the row of a recording":        {[]string{`DELETE FROM media`}, false, "missing rows of recordings that meetings have: 1", 0, true, ""},
		"the rows of speakers":          {[]string{`DELETE FROM speakers`}, false, "missing rows of speakers: ", 0, true, ""},
		"all versions and their bytes":  {[]string{`DELETE FROM bodies`, `DELETE FROM observations`, `DELETE FROM parts`, `DELETE FROM sightings`, `DELETE FROM revisions`}, false, `lost all versions of "Weekly"`, 1, false, "1-rows.json"},
		"a version's row and its parts": {[]string{`DELETE FROM parts`, `DELETE FROM sightings`, `DELETE FROM revisions WHERE part = 'meeting'`}, false, "brought back from its own bytes", 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, o := archivetest.New(t), archive.VerifyOptions{Repair: true}
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "Weekly", "said at first"))
			archivetest.Damage(t, mainDB(a), `UPDATE revisions SET id = 1000 WHERE part = 'transcript'`, `UPDATE bodies SET revision_id = 1000 WHERE revision_id NOT IN (SELECT id FROM revisions)`,
				`UPDATE observations SET revision_id = 1000 WHERE revision_id NOT IN (SELECT id FROM revisions)`, `UPDATE parts SET revision_id = 1000 WHERE part = 'transcript'`)
			archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), archivetest.Meeting(1, "Weekly", "said and mended"))
			recording := archivetest.Attach(t, a, 1, "moving pictures")
			want := contents(t, a)
			if c.from {
				dest := t.TempDir()
				backUp(t, a, dest, Options{})
				from, err := a.OpenBackupSource(t.Context(), dest)
				must(t, err)
				defer from.Close()
				o.From = from
			}
			archivetest.Damage(t, mainDB(a), append([]string{`PRAGMA foreign_keys = OFF`}, c.damage...)...)
			o.AskAgain = func(context.Context, int64) (string, error) { return "", nil }
			v, damages := verify(t, a, o)
			var lines []string
			for _, d := range damages {
				lines = append(lines, d.String())
			}
			all := strings.Join(lines, "\n")
			if !strings.Contains(all, c.outcome) || v.Lost != c.lost || (v.ExitCode() == archive.LostCode) != (c.lost > 0) {
				t.Errorf("%+v\n%s", v, all)
			}
			if got := contents(t, a); c.back && got != want {
				t.Errorf("the meeting is not as it was:\n%s\n%s", got, want)
			}
			if found, _ := filepath.Glob(filepath.Join(a.Dir(), "damaged", c.aside+"*")); c.aside != "" && len(found) == 0 {
				t.Errorf("nothing was put aside as %s: %s", c.aside, all)
			}
			bytes, err := os.ReadFile(blobPath(a, recording.SHA256))
			if err != nil {
				bytes, err = os.ReadFile(filepath.Join(a.Dir(), "media", "damaged", recording.SHA256))
			}
			if err != nil || string(bytes) != "moving pictures" {
				t.Errorf("the recording is gone: %v", err)
			}
			if v, damages := verify(t, a, archive.VerifyOptions{}); len(damages) > 0 {
				t.Errorf("after the repair: %d, %v", v.ExitCode(), damages)
			}
		})
	}
}
