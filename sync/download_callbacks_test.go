package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
	"minutebook/receiver"
	"minutebook/service"
	syncer "minutebook/sync"
)

const public = "https://minutes.test"

// post sends a body to a receiver of the archive, as the service does, and
// returns its status.
func post(t *testing.T, ar *archive.Archive, address, body string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r, err := receiver.New(receiver.Options{Inbox: ar.Inbox(), MinFree: 1, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	r.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodPost, u.Path, strings.NewReader(body)))
	return rec.Code
}

func completed(d rig.Announced) string {
	return fmt.Sprintf(`{"download_id": %q, "recording_id": %d, "status": "completed", "video": {"url": "https://elsewhere.test/false",
		"content_type": "video/mp4", "file_size_bytes": 5, "expires_at": "2030-01-01T00:00:00Z"}}`, d.DownloadID, d.RecordingID)
}

// isPoll reports whether a call reads the state of a download.
func isPoll(c rig.Call) bool {
	return c.Method == http.MethodGet && strings.Contains(c.Path, "/downloads/")
}

func asked(c rig.Call) bool { return c.Method == http.MethodPost }

// announcing runs a sync with a public address, for whose downloads announce is
// called.
func announcing(t *testing.T, meetings int, o service.Options, announce func(*archive.Archive, rig.Announced)) (*rig.Upstream, *archive.Archive) {
	t.Helper()
	u := rig.NewUpstream(t, o, rig.Meetings(meetings, rig.Today().Add(-time.Hour), time.Hour))
	ar := rig.NewArchive(t, archivetest.Dir(t))
	u.Announce(func(d rig.Announced) { announce(ar, d) })
	_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, PublicURL: public,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	t.Cleanup(stop)
	return u, ar
}

func TestCallbacksReplacePolling(t *testing.T) {
	t.Parallel()
	const meetings, generation = 12, 35 * time.Second
	synctest.Test(t, func(t *testing.T) {
		u, ar := announcing(t, meetings, service.Options{Generation: generation, Video: rig.File(5000)},
			func(ar *archive.Archive, d rig.Announced) {
				if !strings.HasPrefix(d.URL, public+"/callbacks/download/") {
					t.Errorf("announced to %s", d.URL)
				}
				time.AfterFunc(generation, func() {
					if status := post(t, ar, d.URL, completed(d)); status != http.StatusOK {
						t.Errorf("a callback was answered %d", status)
					}
				})
			})
		time.Sleep(20 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != meetings {
			t.Errorf("after twenty minutes: %+v", c)
		}
		if a, l := u.Wire.Count(asked), u.Wire.Count(isPoll); a != meetings || l != meetings {
			t.Errorf("%d downloads were asked for and %d reads made, want one of each for %d recordings", a, l, meetings)
		}
	})
}

// The link of a recording is a credential: nothing of an announcement that has it is written
// down, whether it can be read or not.
func TestNoLinkOfACallbackIsKept(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(rig.Announced) string{
		"readable":      completed,
		"not JSON":      func(d rig.Announced) string { return completed(d) + "}" },
		"without ids":   func(rig.Announced) string { return `{"video": {"url": "https://elsewhere.test/false"}}` },
		"not an object": func(rig.Announced) string { return `["https://elsewhere.test/false"]` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, ar := announcing(t, 1, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)},
					func(ar *archive.Archive, d rig.Announced) {
						time.AfterFunc(35*time.Second, func() { post(t, ar, d.URL, body(d)) })
					})
				time.Sleep(5 * time.Minute)
				if files := residue.Find(t, "elsewhere.test", ar.Dir()); files != nil {
					t.Errorf("the link is in %v", files)
				}
				if c := meetingCounts(t, ar); c.WithRecording != 1 {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// Until a callback comes a download is looked at seldom, and ever more seldom.
func TestWhatWillBeAnnouncedIsHardlyPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, ar := announcing(t, 1, service.Options{Generation: 5 * time.Hour, Video: rig.File(5000)},
			func(ar *archive.Archive, d rig.Announced) {
				time.AfterFunc(5*time.Hour, func() { post(t, ar, d.URL, completed(d)) })
			})
		time.Sleep(5*time.Hour - time.Minute)
		if n := u.Wire.Count(isPoll); n > 15 {
			t.Errorf("%d reads in five hours", n)
		}
		time.Sleep(time.Minute + 5*time.Second)
		if c := meetingCounts(t, ar); c.WithRecording != 1 {
			t.Errorf("seconds after the callback: %+v", c)
		}
	})
}

func TestALostCallbackLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, ar := announcing(t, 3, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, func(*archive.Archive, rig.Announced) {})
		time.Sleep(5 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != 3 {
			t.Errorf("after five minutes without a callback: %+v", c)
		}
	})
}

// A callback's word is confirmed by reading the download before it is
// believed: false ones change nothing.
func TestAFalseCallbackChangesNothing(t *testing.T) {
	t.Parallel()
	lies := map[string]struct {
		body   func(rig.Announced) string
		status int
	}{
		"completed too early": {completed, http.StatusOK},
		"failed":              {func(d rig.Announced) string { return status(d, `"failed", "failure_reason": "generation_failed"`) }, http.StatusOK},
		"expired":             {func(d rig.Announced) string { return status(d, `"expired"`) }, http.StatusOK},
		"another download": {func(d rig.Announced) string {
			return completed(rig.Announced{RecordingID: d.RecordingID, DownloadID: "dl_other"})
		}, http.StatusOK},
		"another recording": {func(d rig.Announced) string {
			return completed(rig.Announced{RecordingID: d.RecordingID + 1, DownloadID: d.DownloadID})
		}, http.StatusOK},
		"not JSON":             {func(rig.Announced) string { return "<html>" }, http.StatusOK},
		"to a made up address": {nil, http.StatusUnauthorized},
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { falseCallback(t, lie.body, lie.status) })
		})
	}
}

func falseCallback(t *testing.T, lie func(rig.Announced) string, want int) {
	const generation = 40 * time.Second
	var last atomic.Pointer[rig.Announced]
	u, ar := announcing(t, 2, service.Options{Generation: generation, Video: rig.File(5000)}, func(ar *archive.Archive, d rig.Announced) {
		time.AfterFunc(10*time.Second, func() {
			address, body := d.URL, completed(d)
			if lie == nil {
				address = public + "/callbacks/download/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			} else {
				body = lie(d)
			}
			if got := post(t, ar, address, body); got != want {
				t.Errorf("the false callback was answered %d, want %d", got, want)
			}
		})
		time.AfterFunc(generation, func() { post(t, ar, d.URL, completed(d)) })
		last.Store(&d)
	})
	time.Sleep(20 * time.Second) // the false callback has come, the true one has not
	download := last.Load()
	row, err := ar.DownloadOf(context.Background(), download.RecordingID)
	if err != nil || row.State != archive.DownloadRequested || row.DownloadID != download.DownloadID || row.Failures != 0 || row.Lapsed != 0 {
		t.Errorf("after the false callback: %+v, %v", row, err)
	}
	if c := meetingCounts(t, ar); c.WithRecording != 0 {
		t.Errorf("after the false callback: %+v", c)
	}
	time.Sleep(3 * time.Minute)
	if c := meetingCounts(t, ar); c.WithRecording != 2 {
		t.Errorf("after the true one: %+v", c)
	}
	for _, c := range u.Wire.Calls() {
		if c.Path == "/false" {
			t.Error("the address in the callback was called")
		}
	}
	if n := u.Wire.Count(asked); n != 2 {
		t.Errorf("%d downloads were asked for", n)
	}
}

func status(d rig.Announced, status string) string {
	return fmt.Sprintf(`{"download_id": %q, "recording_id": %d, "status": %s}`, d.DownloadID, d.RecordingID, status)
}

// A service that does not take the address is polled, and not given one again.
func TestARefusedAddressIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)},
					rig.Meetings(6, rig.Today().Add(-20*day), time.Hour))
				ar := rig.NewArchive(t, archivetest.Dir(t))
				var refused atomic.Int64
				next := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && r.ContentLength > 2 {
						refused.Add(1)
						w.WriteHeader(code)
						return
					}
					next.ServeHTTP(w, r)
				})
				_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, PublicURL: public, Fetchers: 1,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(10 * time.Minute)
				if c := meetingCounts(t, ar); c.WithRecording != 6 {
					t.Errorf("after ten minutes: %+v", c)
				}
				if n := refused.Load(); n == 0 || n > 2 {
					t.Errorf("%d calls gave an address, want the first ones only", n)
				}
			})
		})
	}
}

// Once the service has taken an address, 422 means that there is no media, and costs one call.
func TestAnAddressThatWasTakenIsNotDoubted(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, rig.Meetings(2, rig.Today().Add(-time.Hour), time.Hour))
		recordings(t, u, "", `{"recording_id": 1, "media": "none"}`)
		u.Announce(func(rig.Announced) {})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, PublicURL: public,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(10 * day)
		if d, at := queued(t, ar, 1), requested(u, 1); d.State != archive.DownloadNone || len(at) < 10 || len(at) > 11 {
			t.Errorf("without media: %+v, asked for at %v", d, at)
		}
		if c := meetingCounts(t, ar); c.WithRecording != 1 {
			t.Errorf("the other one: %+v", c)
		}
	})
}
