package syncer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

func TestSyncBesideTheDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{Hold: 5, Generation: 35 * time.Second, Video: rig.File(4000)},
			rig.Meetings(20, now.Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(5 * time.Minute)
		for range 5 {
			if _, ok, err := u.Service.Finish(t.Context()); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		done := make(chan error, 1)
		var last syncer.Event
		go func() {
			done <- s.Sync(t.Context(), syncer.Request{Account: "ada", Media: true}, func(e syncer.Event) { last = e })
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Hour):
			t.Fatal("the command waits for the daemon for ever")
		}
		if c := meetingCounts(t, ar); c.WithTranscript != 20 || c.WithRecording != 20 {
			t.Errorf("after the command: %+v", c)
		}
		if !last.Done || last.Kept != 5 {
			t.Errorf("last event: %+v", last)
		}
	})
}

func TestSyncOfUnknownAccountNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		s := newSyncer(t, u, rig.NewArchive(t, archivetest.Dir(t)))
		err := s.Sync(t.Context(), syncer.Request{Account: "bob"}, nil)
		if err == nil || err.Error() != `sync: no account is named "bob"; there are ada` {
			t.Errorf("error %v", err)
		}
	})
}

func TestFullAndSinceReadContentAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		const step = 24 * time.Hour
		newest := now.Add(-time.Hour)
		created := func(id int64) time.Time { return newest.Add(-time.Duration(40-id) * step) }
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(40, newest, step))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s := newSyncer(t, u, ar)
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		edit(t, u, 38, created(38), "So it is", "So it was")
		edit(t, u, 2, created(2), "So it is", "So it was")
		if err := s.Sync(t.Context(), syncer.Request{Since: now.Add(-5 * step)}, nil); err != nil {
			t.Fatal(err)
		}
		if !changed(t, ar, 38) || changed(t, ar, 2) {
			t.Error("since reads what was created after it, and nothing else")
		}
		if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err != nil {
			t.Fatal(err)
		}
		if !changed(t, ar, 2) {
			t.Error("full did not read an old meeting again")
		}
	})
}
