package syncer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// TestAnAwayStoreIsWaitedFor takes the store of the recordings away for two days, in
// which all links lapse. Recordings that were fetched wait on the disk, nothing more is
// asked for, and status says why; then all go on.
func TestAnAwayStoreIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 12
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)},
			rig.Meetings(meetings, rig.Today().Add(-time.Hour), time.Hour))
		store := filepath.Join(t.TempDir(), "nas")
		ar, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: "file://" + store, Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ar.Close() })
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Fetchers: 1,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(20 * time.Second) // the first are being generated
		if err := os.Rename(store, store+"-away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		st, err := s.Status(t.Context())
		if err != nil || !strings.Contains(strings.Join(st.Problems, "\n"), "mount its file system") {
			t.Errorf("problems %q, %v", st.Problems, err)
		}
		requests := u.Wire.Count(asked)
		if c := meetingCounts(t, ar); c.WithRecording != 0 || requests == 0 || requests > 8 {
			t.Errorf("after two days %d recordings are there, and %d downloads were asked for", c.WithRecording, requests)
		}
		if err := os.Rename(store+"-away", store); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != meetings {
			t.Errorf("ten minutes after the store is back: %+v", c)
		}
		if n := u.Wire.Count(asked); n != meetings {
			t.Errorf("%d downloads were asked for, want one of each of %d", n, meetings)
		}
	})
}
