package syncer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// On a line that fetches one recording an hour, of links that live a day, never
// more are open than can be fetched before they lapse.
func TestNoMoreLinksAreOpenThanCanBeFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const recordings, bytes, rate = 40, 108_000, 30.0 // an hour each
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(bytes)},
			rig.Meetings(recordings, rig.Today().Add(-time.Hour), time.Hour))
		u.Wire.Rate, u.Wire.Piece = rate, 512
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		for range 41 * 4 {
			time.Sleep(15 * time.Minute)
			open, err := ar.OpenDownloads(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var left int64
			for _, d := range open {
				if left += bytes - d.Fetched; d.State == archive.DownloadReady && time.Duration(float64(left)/rate)*time.Second > time.Until(d.ExpiresAt) {
					t.Fatalf("the link of %d lapses in %v, and %d bytes come before its end", d.RecordingID, time.Until(d.ExpiresAt), left)
				}
			}
		}
		if c := meetingCounts(t, ar); c.WithRecording != recordings {
			t.Errorf("after 41 hours: %+v", c)
		}
		for id := int64(1); id <= recordings; id++ {
			if d := queued(t, ar, id); d.Lapsed != 0 || d.Requests != 1 {
				t.Errorf("recording %d: %+v", id, d)
			}
		}
	})
}
