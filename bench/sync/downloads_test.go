package sync_test

import (
	"net/http"
	"testing"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// TestFigureSlowLine fetches recordings over a line that carries a hundred of them an
// hour: far more than can be fetched in the life of a link, when there are 3,000.
func TestFigureSlowLine(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	bothWindows(t, slowLine)
}

// slowLine fetches recordings that are ready 35 seconds after they were asked for.
func slowLine(t *testing.T, window service.Window) {
	const bytes, rate = 72_000, 2_000 // 36 s a recording
	recordings := size(3_000, 40)
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Window: window, Generation: 35 * time.Second, Video: rig.File(bytes)},
		rig.Meetings(recordings, now.Add(-24*time.Hour), 2*time.Hour))
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s := openSyncer(t, u, ar, u.Client(t, ar), false)
	if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	u.Wire.Rate = rate
	start := time.Now()
	if err := s.Sync(t.Context(), syncer.Request{Media: true}, nil); err != nil {
		t.Fatal(err)
	}
	elapsed := time.Since(start)
	requests := u.Wire.Count(func(c rig.Call) bool { return c.Method == http.MethodPost })
	lapsed, whole := 0, 0
	for id := int64(1); id <= int64(recordings); id++ {
		d, err := ar.DownloadOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		lapsed += d.Lapsed
		media, err := ar.MediaOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(media) == 1 && media[0].Size == bytes {
			whole++
		}
	}
	minimum := time.Duration(recordings) * 36 * time.Second
	t.Logf("%d recordings, 100 an hour, %s window: %v of at least %v (%.3f), %d download requests (%.3f each), %d links lapsed, %d files whole, %d calls in all, %d answers 429",
		recordings, window, elapsed, minimum, elapsed.Seconds()/minimum.Seconds(), requests, float64(requests)/float64(recordings), lapsed, whole,
		len(u.Wire.Calls()), u.Wire.Count(is429))
	if lapsed > 0 || whole != recordings || float64(requests) > 1.05*float64(recordings) || u.Wire.Count(is429) > 0 {
		t.Error("not as wanted")
	}
}
