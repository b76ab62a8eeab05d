package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRecordingsLeaveTheWalkItsLimit makes one walk of heavy pages, each asked
// for when the one before has come, while a crowd of recordings waits to be
// asked for and every link is read with the highest priority. The walk keeps
// its limit of 30 a minute; afterwards the recordings have everything.
func TestRecordingsLeaveTheWalkItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		downloads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/download") {
				l.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			if l.ServeHTTP(answer, r); answer.Code != http.StatusOK {
				w.WriteHeader(answer.Code)
				return
			}
			fmt.Fprint(w, `{"download_id": "d", "recording_id": 1, "status": "processing"}`)
		})
		c := clientOver(t, slow(downloads, rand.New(rand.NewPCG(3, 4))), nil)
		ctx, stop := context.WithCancel(t.Context())
		var crowd sync.WaitGroup
		var mu sync.Mutex
		links := 0
		for range 40 {
			crowd.Go(func() {
				for ctx.Err() == nil {
					d, err := c.RequestDownload(WithPriority(ctx, PriorityLater), 1, "")
					if err == nil {
						_, err = c.Download(WithPriority(ctx, PriorityDownload), 1, d.DownloadID)
					}
					if err != nil {
						continue
					}
					mu.Lock()
					links++
					mu.Unlock()
				}
			})
		}
		for _, heavy := range []bool{true, false} {
			start := time.Now()
			const pages = 150
			for range pages {
				if _, err := c.MeetingsPage(ctx, MeetingQuery{IncludeTranscript: heavy}, ""); err != nil {
					t.Fatal(err)
				}
			}
			elapsed := time.Since(start)
			if minimum := pages / 30 * time.Minute; elapsed > minimum+minimum/5+time.Minute {
				t.Errorf("%d pages (heavy: %v) one after the other took %v beside the recordings, with half of the window %v", pages, heavy, elapsed, minimum)
			}
		}
		time.Sleep(2 * time.Minute)
		mu.Lock()
		before := links
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		mu.Lock()
		alone := links - before
		mu.Unlock()
		stop()
		crowd.Wait()
		if before == 0 || alone < 9*28 {
			t.Errorf("%d links beside the walk, %d in ten minutes alone", before, alone)
		}
	})
}

// TestHeavyReadsThatCanComeLaterTakeWhatIsLeft makes a crowd of heavy reads that
// can come later, first beside a walk and then alone.
func TestHeavyReadsThatCanComeLaterTakeWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		c := clientOver(t, slow(l, rand.New(rand.NewPCG(5, 6))), nil)
		ctx, stop := context.WithCancel(t.Context())
		read := func(p Priority) error {
			_, err := c.MeetingsPage(WithPriority(ctx, p), MeetingQuery{IncludeTranscript: true}, "")
			return err
		}
		var crowd sync.WaitGroup
		var mu sync.Mutex
		var later []time.Time
		begin := sync.OnceFunc(func() {
			for range 4 {
				crowd.Go(func() {
					for read(PriorityLater) == nil {
						mu.Lock()
						later = append(later, time.Now())
						mu.Unlock()
					}
				})
			}
		})
		start := time.Now()
		const pages = 1200
		for range pages {
			if err := read(PriorityNight); err != nil {
				t.Fatal(err)
			}
			begin()
		}
		walked := time.Now()
		if elapsed, minimum := walked.Sub(start), pages/30*time.Minute; elapsed > minimum+minimum/20+time.Minute {
			t.Errorf("%d pages took %v beside what can come later; the limit allows %v", pages, elapsed, minimum)
		}
		time.Sleep(10 * time.Minute)
		stop()
		crowd.Wait()
		early, among, alone := 0, 0, 0
		for _, at := range later {
			switch {
			case at.Before(start.Add(30 * time.Minute)):
				early++
			case at.Before(walked):
				among++
			default:
				alone++
			}
		}
		if early > 0 || among != 4 || alone < 9*28 || l.refused > 0 {
			t.Errorf("in the walk's first half hour %d, then %d; in ten minutes alone %d; refused %d", early, among, alone, l.refused)
		}
	})
}

// TestALowLimitLeavesRecordingsACall makes a walk and requests of recordings under a limit of three
// calls a minute, a quarter of which is less than a call.
func TestALowLimitLeavesRecordingsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		l.all = 3
		c := clientOver(t, slow(l, rand.New(rand.NewPCG(7, 8))), nil)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var walk sync.WaitGroup
		walk.Go(func() {
			for ctx.Err() == nil {
				c.MeetingsPage(ctx, MeetingQuery{}, "")
			}
		})
		time.Sleep(5 * time.Minute) // the budget has learned the limit
		asked := -1                 // without the one that the hour ends
		for ; ctx.Err() == nil; asked++ {
			c.RequestDownload(WithPriority(ctx, PriorityLater), 1, "")
		}
		walk.Wait()
		if asked < 4 {
			t.Errorf("%d recordings were asked for in an hour beside a walk; each waits for a quarter of an hour longer than a page at most", asked)
		}
	})
}
