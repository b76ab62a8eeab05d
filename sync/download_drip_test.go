package syncer_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// TestDrippingRecordingsHoldUpNoOthers has the first recordings come a byte each five
// seconds. The others are fetched, and those recordings by their next links.
func TestDrippingRecordingsHoldUpNoOthers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all, bad = 8, 4
		u := rig.NewUpstream(t, service.Options{Video: rig.File(50_000)}, rig.Meetings(all, rig.Today().Add(-time.Hour), 20*time.Hour))
		sick := &drippingHost{next: u.Wire, links: bad, paths: map[string]bool{}}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: &http.Client{Transport: sick}, DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(2 * time.Hour)
		if c := meetingCounts(t, ar); c.WithRecording < all-bad {
			t.Errorf("after two hours: %+v", c)
		}
		time.Sleep(6 * time.Hour)
		if c := meetingCounts(t, ar); c.WithRecording != all {
			t.Errorf("after eight hours: %+v", c)
		}
	})
}

// drippingHost sends the bodies of the links that are used first in drips.
type drippingHost struct {
	next  http.RoundTripper
	links int

	mu    sync.Mutex
	paths map[string]bool // of links, and whether they drip
}

func (d *drippingHost) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.paths[r.URL.Path]; !known {
		d.paths[r.URL.Path] = len(d.paths) < d.links
	}
	if d.paths[r.URL.Path] {
		resp.Body = dripping{resp.Body}
	}
	return resp, nil
}

// dripping is a body that comes a byte each five seconds.
type dripping struct{ io.ReadCloser }

func (d dripping) Read(p []byte) (int, error) {
	time.Sleep(5 * time.Second)
	return d.ReadCloser.Read(p[:min(len(p), 1)])
}
