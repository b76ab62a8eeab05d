package sync_test

import (
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// isFull reports whether the figures are to be measured in full size.
func isFull() bool { return os.Getenv("MINUTEBOOK_BENCH") == "full" }

// heavyPages makes heavy pages take half a second to three seconds at random,
// seen by the service at any moment of them, and light ones a fifth of it.
func heavyPages(seed uint64) func(*http.Request) (out, back time.Duration) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	return func(req *http.Request) (out, back time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		d := time.Duration(500+r.IntN(2500)) * time.Millisecond
		q := req.URL.Query()
		if req.URL.Path == service.BasePath+"/meetings" && q.Get("include_transcript") != "true" {
			d /= 5
		}
		out = time.Duration(r.Float64() * float64(d))
		return out, d - out
	}
}

func openSyncer(t *testing.T, u *rig.Upstream, ar *archive.Archive, client *api.Client, oauth bool) *syncer.Syncer {
	t.Helper()
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), Logger: zerolog.Nop(),
		Accounts: []syncer.Account{{Name: "ada", Client: client, OAuth: oauth}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func is429(c rig.Call) bool { return c.Status == http.StatusTooManyRequests }
func heavy(c rig.Call) bool { return c.Heavy }

// lastHeavy is how long after start the last heavy call was answered.
func lastHeavy(u *rig.Upstream, start time.Time) time.Duration {
	var last time.Time
	for _, c := range u.Wire.Calls() {
		if c.Heavy && c.Answered.After(last) {
			last = c.Answered
		}
	}
	return last.Sub(start)
}

func size(large, small int) int {
	if isFull() {
		return large
	}
	return small
}

func backfill(t *testing.T, window service.Window, meetings int, oauth bool) (calls int, elapsed time.Duration, refused int) {
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Window: window}, rig.Meetings(meetings, now.Add(-24*time.Hour), 2*time.Hour))
	u.Wire.Delay = heavyPages(7)
	ar := rig.NewArchive(t, archivetest.Dir(t))
	var client *api.Client
	if oauth {
		client = u.OAuthClient(t, ar)
		time.Sleep(2 * time.Minute)
	} else {
		client = u.Client(t, ar)
	}
	s := openSyncer(t, u, ar, client, oauth)
	start := time.Now()
	if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	counts, err := ar.Counts(t.Context())
	if err != nil || counts.Meetings != meetings || counts.WithTranscript != meetings || counts.WithSummary != meetings {
		t.Fatalf("not complete: %+v, %v", counts, err)
	}
	return u.Wire.Count(heavy), lastHeavy(u, start), u.Wire.Count(is429)
}

// bothWindows measures in a bubble of its own for each way in which the service may
// count.
func bothWindows(t *testing.T, measure func(*testing.T, service.Window)) {
	for _, window := range []service.Window{service.WindowFixed, service.WindowSliding} {
		t.Run(string(window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { measure(t, window) })
		})
	}
}

func TestFigureBackfillAtTheLimit(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, window := range []service.Window{service.WindowFixed, service.WindowSliding} {
		t.Run(string(window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				meetings := size(10_000, 1_000)
				calls, elapsed, refused := backfill(t, window, meetings, false)
				minimum := time.Duration(meetings/10) * 2 * time.Second
				t.Logf("API key, %d meetings, %s window: %d heavy calls, %v of at least %v (%.3f), %d answers 429",
					meetings, window, calls, elapsed, minimum, elapsed.Seconds()/minimum.Seconds(), refused)
				if elapsed.Seconds() > slack()*minimum.Seconds() || refused > 0 {
					t.Errorf("over %.2f of the limit's own minimum, or refused", slack())
				}
			})
		})
	}
}

func TestFigureOAuthAtTheLimit(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, window := range []service.Window{service.WindowFixed, service.WindowSliding} {
		t.Run(string(window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				meetings := size(1_000, 200)
				calls, elapsed, refused := backfill(t, window, meetings, true)
				minimum := time.Duration(2*meetings) * 2 * time.Second
				t.Logf("OAuth, %d meetings, %s window: %d heavy calls, %v of at least %v (%.3f), %d answers 429",
					meetings, window, calls, elapsed, minimum, elapsed.Seconds()/minimum.Seconds(), refused)
				if elapsed.Seconds() > slack()*minimum.Seconds() || refused > 0 {
					t.Errorf("over %.2f of the limit's own minimum, or refused", slack())
				}
			})
		})
	}
}

// slack is the bound on a run's time, as a multiple of the limit's own minimum. The first and the
// last minute weigh more in a small one.
func slack() float64 {
	if isFull() {
		return 1.05
	}
	return 1.12
}

func TestFigureSecondRun(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	bothWindows(t, secondRun)
}

// secondRun syncs an archive that is complete.
func secondRun(t *testing.T, window service.Window) {
	meetings := size(10_000, 420)
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Window: window}, rig.Meetings(meetings, now.Add(-24*time.Hour), 2*time.Hour))
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s := openSyncer(t, u, ar, u.Client(t, ar), false)
	if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	before, head := len(u.Wire.Calls()), u.Wire.Count(heavy)
	position, err := ar.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	calls, heavies := len(u.Wire.Calls())-before, u.Wire.Count(heavy)-head
	after, err := ar.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("second run over %d meetings, %s window: %d calls, %d of them heavy, %v, %d changes", meetings, window, calls, heavies, time.Since(start), after.Seq-position.Seq)
	if heavies > 0 || calls > meetings/10+maxWindows || after != position {
		t.Error("a second run does more than a light walk")
	}
}

// maxWindows is how many windows a light walk is cut into at most, each of which
// may end with a page that is not full.
const maxWindows = 4
