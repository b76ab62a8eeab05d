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
			took := time.Since(start)
			if least := pages / 30 * time.Minute; took > least+least/5+time.Minute {
				t.Errorf("%d pages (heavy: %v) one after the other took %v beside the recordings, with half of the window %v", pages, heavy, took, least)
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
