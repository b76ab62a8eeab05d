package syncer_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// An account that the service asks not to call for an hour keeps no other account from its
// recordings. One that another account sees is asked for by that one.
func TestABlockedAccountHoldsUpNoOtherRecordings(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodGet} { // the requests, and the polls
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { blockedAccount(t, method) })
		})
	}
}

func blockedAccount(t *testing.T, method string) {
	newest := rig.Today().Add(-time.Hour)
	meetings := rig.Meetings(8, newest, time.Minute)
	for id := int64(90); id < 93; id++ {
		meetings = append(meetings, meetingOfBob(id, newest.Add(-time.Duration(id)*time.Hour))...)
	}
	u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, meetings)
	share(t, u, `{"recording_id": 1, "user": "`+bob+`", "level": "standard"}`)
	inner := u.Wire.Handler
	begin := time.Now()
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == u.Key && r.Method == method && strings.Contains(r.URL.Path, "/download") && time.Since(begin) < time.Hour {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		inner.ServeHTTP(w, r)
	})
	ar := rig.NewArchive(t, archivetest.Dir(t))
	_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{
		{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
	defer stop()
	time.Sleep(30 * time.Minute)
	ids := []int64{90, 91, 92}
	if method == http.MethodPost {
		ids = append(ids, 1)
	}
	for _, id := range ids {
		if d := queued(t, ar, id); d.State != archive.DownloadDone || d.Account != "bob" {
			t.Errorf("while ada is not to be called: %+v", d)
		}
	}
	time.Sleep(time.Hour)
	if n := meetingCounts(t, ar).WithRecording; n != 11 {
		t.Errorf("%d recordings were fetched afterwards", n)
	}
	if d := queued(t, ar, 8); d.Failures != 0 || d.Account != "ada" {
		t.Errorf("waiting was a failure: %+v", d)
	}
}
