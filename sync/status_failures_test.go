package syncer

import (
	"fmt"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/importer"
)

// TestStatesComeBeforeSingleFailures has more failures of single meetings and files than
// status lists, all newer than two states that need a person.
func TestStatesComeBeforeSingleFailures(t *testing.T) {
	a := archivetest.New(t)
	note := func(class, what string, id int64, age time.Duration) {
		t.Helper()
		err := a.RecordFailure(t.Context(), archive.Failure{Account: "ada", Class: class, What: what, RecordingID: id, Reason: "r", Last: archivetest.Epoch.Add(-age)})
		if err != nil {
			t.Fatal(err)
		}
	}
	note(importer.FailureClass, "/mnt/folder", 0, 48*time.Hour)
	note(classJob, JobWalk, 0, 24*time.Hour)
	for i := range int64(maxFailures) {
		note(classDownload, fmt.Sprint(i+1), i+1, time.Minute)
		note(importer.FailureClass, fmt.Sprintf("talk%d.vtt", i), 0, time.Minute)
	}
	s, err := New(Options{Archive: a})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Status(t.Context())
	if err != nil || len(st.Failures) != maxFailures || st.Failures[0].What != JobWalk || st.Failures[1].What != "/mnt/folder" {
		t.Errorf("%d failures, first %+v, %v", len(st.Failures), st.Failures[:2], err)
	}
}
