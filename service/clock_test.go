package service

import (
	"net/http"
	"testing"
	"time"

	"minutebook/api"
)

// A download that was requested while the clock was ahead is completed, and sent, soon after the clock
// was set right.
func TestADownloadOfAClockAheadIsCompletedInTime(t *testing.T) {
	s := newSandbox(t, Options{Generation: time.Minute}, meeting(1))
	const ahead = 40 * 24 * time.Hour
	s.clock.add(ahead)
	var d api.Download
	s.call(http.MethodPost, "/recordings/1/download", s.admin, `{"destination_url": "https://x.example/"}`).decode(t, &d)
	s.clock.add(-ahead)
	if err := s.clampTimes(t.Context()); err != nil { // as sweep does
		t.Fatal(err)
	}
	for want, wait := range map[string]time.Duration{api.DownloadProcessing: 0, api.DownloadCompleted: time.Minute} {
		now := s.clock.Now().Add(wait)
		row, err := s.store.download(t.Context(), d.DownloadID)
		if err != nil || row.status(now) != want {
			t.Errorf("after %s: %+v, want %s: %v", wait, row, want, err)
		}
		due, _, err := s.store.readDue(t.Context(), now, 100)
		if err != nil || (len(due) == 1) != (want == api.DownloadCompleted) {
			t.Errorf("after %s: %d callbacks are due: %v", wait, len(due), err)
		}
	}
	s.clock.add(time.Minute)
	s.get("/recordings/1/downloads/"+d.DownloadID, s.admin, http.StatusOK).decode(t, &d)
	file, _ := d.Video.Get()
	if a := s.call(http.MethodGet, file.URL, "", ""); a.status != http.StatusOK {
		t.Errorf("its link: %d %s", a.status, a.body)
	}
}
