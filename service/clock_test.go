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

// A retry that a clock ahead has planned is made after the same wait, however often that is corrected.
func TestARetryOfAClockAheadWaitsNoShorter(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	const ahead, wait = 24 * time.Hour, 10 * time.Hour
	if err := s.store.queueCallback(t.Context(), callback{owner: "ann@acme.example", kind: "summary", url: "https://x.example/", recordingID: 1, at: s.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	tried := s.clock.Now().Add(ahead)
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE deliveries SET attempts = 6, created_at = ?1, last_at = ?1, next_at = ?2`,
		tried.UnixMilli(), tried.Add(wait).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	want := s.clock.Now().Add(wait)
	for range 3 {
		if err := s.clampTimes(t.Context()); err != nil { // as sweep does
			t.Fatal(err)
		}
		list, err := s.Deliveries(t.Context(), "pending", 2)
		if err != nil || len(list) != 1 || !list[0].NextAt.Equal(want) || list[0].LastAt.After(s.clock.Now()) || list[0].CreatedAt.After(s.clock.Now()) {
			t.Errorf("waits: %+v, want until %s: %v", list, want, err)
		}
		s.clock.add(time.Hour)
	}
}
