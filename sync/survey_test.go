package syncer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// Windows hold about as many meetings each, however long the history is: one
// that held most of them would be read by one cursor, at the speed of its answers.
func TestWindowsShareTheHistory(t *testing.T) {
	t.Parallel()
	for _, meetings := range []int{450, 700, 1200} {
		t.Run(fmt.Sprint(meetings), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const step = 2 * time.Hour
				newest := rig.Today().Add(-24 * time.Hour)
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, newest, step))
				ar := rig.NewArchive(t, t.TempDir())
				if err := newSyncer(t, u, ar).Sync(t.Context(), syncer.Request{}, nil); err != nil {
					t.Fatal(err)
				}
				raw, err := ar.Mark(t.Context(), "sync/layout/ada/")
				if err != nil {
					t.Fatal(err)
				}
				var cuts []time.Time
				if err := json.Unmarshal(raw, &cuts); err != nil {
					t.Fatal(err)
				}
				held := make([]int, len(cuts)+1)
				for i := range meetings {
					at := newest.Add(-time.Duration(i) * step)
					n, _ := slices.BinarySearchFunc(cuts, at, time.Time.Compare)
					held[n]++
				}
				if len(held) < meetings/300 || slices.Max(held) > 3*meetings/len(held)/2 {
					t.Errorf("windows hold %v meetings", held)
				}
			})
		})
	}
}
