package control

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestDoctorNamesTheDiskThatIsNearlyFull has recordings and backups on disks of their own, empty
// ones and then nearly full ones. What came to such a disk does not fill that of the databases.
func TestDoctorNamesTheDiskThatIsNearlyFull(t *testing.T) {
	recordings, backups := testrun.SmallDisk(t, 8), testrun.SmallDisk(t, 8)
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: "file://" + recordings.Dir, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, isFull := range []bool{false, true} {
		if isFull {
			recordings.Fill()
			backups.Fill()
		}
		e := examination{h: Deps{Archive: a, Proof: Proof{From: backups.Dir}}}
		e.examineDisk(t.Context())
		e.examineMedia(t.Context(), true)
		e.examineBackupPlace(t.Context(), true)
		var full []string
		for _, f := range e.findings {
			if strings.Contains(f.Text, "its disk is nearly full") && f.Severity == SeverityWarning && f.Remedy != "" {
				full = append(full, f.Subject)
			}
			if strings.Contains(f.Text, "of the last month") {
				t.Errorf("recordings on another disk fill that of the databases: %+v", f)
			}
		}
		if got := strings.Join(full, ", "); isFull != (got == "store of recordings, directory of the backups") {
			t.Errorf("full %v: %+v", isFull, e.findings)
		}
	}
}
