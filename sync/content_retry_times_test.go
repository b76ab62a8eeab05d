package syncer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// A new meeting without a transcript is asked for it after 5, 15, 60 and 180
// minutes and then daily for a week, which is no failure, and then no more.
func TestALateTranscriptIsAskedForAtItsTimes(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		created := rig.Today().Add(-time.Minute)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(1, created, time.Hour)))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		start := time.Now()
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(30 * 24 * time.Hour)
		var at []time.Duration
		for _, c := range u.Wire.Calls() {
			if c.Heavy {
				at = append(at, c.At.Sub(start).Round(time.Second))
			}
		}
		const day = 24 * time.Hour
		want := []time.Duration{0, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, day, 2 * day, 3 * day, 4 * day, 5 * day, 6 * day, 7 * day}
		if !slices.Equal(at, want) {
			t.Errorf("asked at %v\nwant     %v", at, want)
		}
		st, err := s.Status(t.Context())
		if err != nil || len(st.Failures) != 0 || st.Accounts[0].ContentTasks != 0 {
			t.Errorf("a month later: %+v, %v", st, err)
		}
		all, err := ar.Failures(t.Context(), false)
		if err != nil || len(all) != 0 {
			t.Errorf("failures %+v, %v", all, err)
		}
	})
}

// Late content is there after the next look, and not asked for again.
func TestALateTranscriptIsKeptWhenItComes(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		created := rig.Today().Add(-time.Minute)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(1, created, time.Hour)))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(10 * time.Minute)
		edit(t, u, 1, created, "", "")
		time.Sleep(5*time.Minute + time.Second)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Errorf("after the look at fifteen minutes: %+v", c)
		}
		before := u.Wire.Count(func(c rig.Call) bool { return c.Heavy })
		time.Sleep(8 * 24 * time.Hour)
		if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy }) - before; n != 0 {
			t.Errorf("%d heavy calls for what is there", n)
		}
	})
}
