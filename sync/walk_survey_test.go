package syncer

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
)

// Windows hold about as many meetings each, however long the history is: one
// that held most of them would be read by one cursor, at the speed of its answers.
func TestWindowsShareTheHistory(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-24 * time.Hour)
		meeting := func(n int) []byte {
			return append(rig.Meeting(int64(n), newest.Add(-time.Duration(n-1)*surveyStep)), '\n')
		}
		u := rig.NewUpstream(t, service.Options{}, meeting(1))
		loaded := 1
		for _, meetings := range []int{450, 600, 1000} {
			var older []byte
			for loaded < meetings {
				loaded++
				older = append(older, meeting(loaded)...)
			}
			if _, err := u.Service.Load(t.Context(), bytes.NewReader(older), "meetings"); err != nil {
				t.Fatal(err)
			}
			surveyed(t, u, newest, meetings)
			time.Sleep(2 * time.Minute)
		}
	})
}

const surveyStep = 2 * time.Hour

func surveyed(t *testing.T, u *rig.Upstream, newest time.Time, meetings int) {
	t.Helper()
	before := len(u.Wire.Calls())
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s, err := New(Options{Archive: ar, Accounts: []Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.surveyHistory(t.Context(), walkSpec{kind: kindBackfill, account: s.account("ada"), before: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	cuts := cutHistory(samples, maxWindows)
	counts := make([]int, len(cuts)+1)
	for i := range meetings {
		n, _ := slices.BinarySearchFunc(cuts, newest.Add(-time.Duration(i)*surveyStep), time.Time.Compare)
		counts[n]++
	}
	if len(counts) < meetings/meetingsPerWindow-1 || slices.Max(counts) > 3*meetings/len(counts)/2 {
		t.Errorf("windows of %d hold %v meetings", meetings, counts)
	}
	if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy || c.Status != http.StatusOK }); n > 0 || len(u.Wire.Calls())-before > 22 {
		t.Errorf("the survey made %d calls, %d of all are heavy or refused", len(u.Wire.Calls())-before, n)
	}
}
