package syncer

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/bench/sync/rig"
	"minutebook/service"
)

// Windows hold about as many meetings each, however long the history is: one
// that held most of them would be read by one cursor, at the speed of its answers.
func TestWindowsShareTheHistory(t *testing.T) {
	t.Parallel()
	for _, meetings := range []int{450, 600, 1000} {
		t.Run(fmt.Sprint(meetings), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { surveyed(t, meetings) })
		})
	}
}

func surveyed(t *testing.T, meetings int) {
	const step = 2 * time.Hour
	newest := rig.Today().Add(-24 * time.Hour)
	u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, newest, step))
	ar := rig.NewArchive(t, t.TempDir())
	s, err := New(Options{Archive: ar, Accounts: []Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.survey(t.Context(), order{kind: kindBackfill, account: s.accounts[0], before: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	cuts := layout(samples, maxWindow)
	held := make([]int, len(cuts)+1)
	for i := range meetings {
		n, _ := slices.BinarySearchFunc(cuts, newest.Add(-time.Duration(i)*step), time.Time.Compare)
		held[n]++
	}
	if len(held) < meetings/perWindow-1 || slices.Max(held) > 3*meetings/len(held)/2 {
		t.Errorf("windows hold %v meetings", held)
	}
	if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy || c.Status != http.StatusOK }); n > 0 || len(u.Wire.Calls()) > 22 {
		t.Errorf("the survey made %d calls, %d of them heavy or refused", len(u.Wire.Calls()), n)
	}
}
