package syncer_test

import (
	"net/http"
	"strings"
	"sync/atomic"
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

// An account whose calls the service refuses, or whose limit other programs use up, keeps no other
// account from its recordings. One that another account sees is fetched by that one where the calls
// are refused, also when it was requested before.
func TestABlockedAccountHoldsUpNoOtherRecordings(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	refuse := func(method string, status int, wait string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if r.Method == method && strings.Contains(r.URL.Path, "/download") || status == http.StatusUnauthorized && strings.HasSuffix(r.URL.Path, "/meeting_types") {
				w.Header().Set("Retry-After", wait)
				w.WriteHeader(status)
				return
			}
			inner.ServeHTTP(w, r)
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"requests": refuse(http.MethodPost, http.StatusTooManyRequests, "3600"), "polls": refuse(http.MethodGet, http.StatusTooManyRequests, "3600"),
		"shared polls": refuse(http.MethodGet, http.StatusTooManyRequests, "3600"),
		"suspended":    refuse(http.MethodGet, http.StatusUnauthorized, ""), "used up": refuse(http.MethodPost, http.StatusTooManyRequests, "40"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { blockedAccount(t, answer, name != "polls" && name != "used up") })
		})
	}
}

func blockedAccount(t *testing.T, answer func(http.ResponseWriter, *http.Request, http.Handler), isShared bool) {
	newest := rig.Today().Add(-time.Hour)
	meetings := rig.Meetings(8, newest, time.Minute)
	for id := int64(90); id < 93; id++ {
		meetings = append(meetings, meetingOfBob(id, newest.Add(-time.Duration(id)*time.Hour))...)
	}
	u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, meetings)
	if isShared {
		share(t, u, `{"recording_id": 1, "user": "`+bob+`", "level": "standard"}`, `{"recording_id": 8, "user": "`+bob+`", "level": "standard"}`)
	}
	inner := u.Wire.Handler
	begin := time.Now()
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since := time.Since(begin)
		switch isAda := r.Header.Get("X-Api-Key") == u.Key; {
		case isAda && since > 30*time.Second && since < time.Hour:
			answer(w, r, inner)
			return
		case !isAda && since < 10*time.Second:
			time.Sleep(10 * time.Second) // ada's recordings are requested first
		}
		inner.ServeHTTP(w, r)
	})
	ar := rig.NewArchive(t, archivetest.Dir(t))
	_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{
		{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
	defer stop()
	time.Sleep(5 * time.Minute)
	ids := []int64{90, 91, 92}
	if isShared {
		ids = append(ids, 1, 8) // the newest and the oldest of these
	}
	for _, id := range ids {
		if d := queued(t, ar, id); d.State != archive.DownloadDone || id > 8 && d.Account != "bob" {
			t.Errorf("while ada is not to be called: %+v", d)
		}
	}
	time.Sleep(3 * time.Hour)
	if n := meetingCounts(t, ar).WithRecording; n != 11 {
		t.Errorf("%d recordings were fetched afterwards", n)
	}
	if d := queued(t, ar, 4); d.Failures != 0 || d.Account != "ada" {
		t.Errorf("waiting was a failure: %+v", d)
	}
}

// A service that asks for patience with a request of a recording, or with the state of one, is asked
// ever less, which is a failure, and another account that sees the meeting is asked, too.
func TestRequestsArePatientWithAService(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { patientWith(t, method) })
		})
	}
}

// patientWith has a service ask for patience with the calls of a method for the recordings of ada.
func patientWith(t *testing.T, method string) {
	u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(2, rig.Today().Add(-time.Hour), time.Minute))
	share(t, u, `{"recording_id": 1, "user": "`+bob+`", "level": "standard"}`)
	inner, begin := u.Wire.Handler, time.Now()
	var requests atomic.Int64
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isAda := r.Header.Get("X-Api-Key") == u.Key
		if isAda && r.Method == method && strings.Contains(r.URL.Path, "/download") && time.Since(begin) < 12*time.Hour {
			requests.Add(1)
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if !isAda && time.Since(begin) < 10*time.Second {
			time.Sleep(10 * time.Second) // ada is asked first
		}
		inner.ServeHTTP(w, r)
	})
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{
		{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
	defer stop()
	time.Sleep(11 * time.Hour)
	if n := requests.Load(); n == 0 || n > 10 {
		t.Errorf("two recordings were asked for %d times in eleven hours", n)
	}
	if d := queued(t, ar, 1); d.State != archive.DownloadDone || d.Account != "bob" {
		t.Errorf("the recording that bob sees, too: %+v", d)
	}
	if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 1 || st.Failures[0].RecordingID != 2 {
		t.Errorf("failures %+v, %v; want that of recording 2", st.Failures, err)
	}
	time.Sleep(48 * time.Hour)
	if n := meetingCounts(t, ar).WithRecording; n != 2 {
		t.Errorf("%d recordings were fetched afterwards", n)
	}
}
