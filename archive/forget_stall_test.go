package archive_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/bucket"
	"minutebook/internal/phrase"
	"minutebook/internal/residue"
)

// silentServer answers nothing, so that each call fails after a minute.
type silentServer struct{ asked atomic.Int32 }

func (s *silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestForgetWhileTheBucketIsSilent forgets meetings while the server of the recordings answers
// nothing. Their words go before the server is asked, nobody waits for the erasing of another
// meeting, and a try for all of them asks the server once.
func TestForgetWhileTheBucketIsSilent(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	dir := archivetest.Dir(t)
	synctest.Test(t, func(t *testing.T) {
		server := &silentServer{}
		a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop(),
			MediaURL: "s3://recordings?region=here&endpoint=https://bucket.test", MediaLine: bucket.Line{Transport: server}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		const word = "Xylophonist"
		for id := range int64(3) {
			observed, err := archive.FromMeeting("ann", archive.SourceList, time.Now(), archivetest.Meeting(id+1, word, word))
			if err == nil {
				_, err = a.Apply(t.Context(), []archive.Observation{observed})
			}
			if err == nil { // a recording that an import is storing
				err = a.ExpectMedia(t.Context(), id+1, strings.Repeat("ab", 31)+"0"+string(rune('0'+id)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		erased := map[int64]bool{}
		a.OnForget("a room", func(_ context.Context, id int64) error { erased[id] = true; return nil })
		server.asked.Store(0)
		ends := make(chan error, 3)
		forget := func(id int64) {
			go func() { _, err := a.Forget(t.Context(), id, "asked for"); ends <- err }()
			time.Sleep(time.Second)
			synctest.Wait()
			if !erased[id] {
				t.Errorf("the rooms still have meeting %d", id)
			}
		}
		began := time.Now()
		forget(1)
		forget(2)
		_, done := a.UntilForget(t.Context()) // a backup
		done()
		forget(3)
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("they waited %v for each other", waited)
		}
		if found := residue.Find(t, word, dir); len(found) > 0 {
			t.Errorf("while the server is waited for, the words are in %v", found)
		}
		for range 3 {
			if err := <-ends; err == nil || strings.Contains(phrase.Error(err), "\n") {
				t.Errorf("forget ends with %v", err)
			}
		}
		began = time.Now()
		server.asked.Store(0)
		err = a.FinishForgetting(t.Context())
		if err == nil || strings.Contains(phrase.Error(err), "\n") || strings.Count(err.Error(), "it does not answer in time") != 1 || !strings.Contains(err.Error(), "2 further meetings") {
			t.Errorf("the next try ends with %v", err)
		}
		if n, waited := server.asked.Load(), time.Since(began); n > 3 || waited > 4*time.Minute {
			t.Errorf("the next try asked %d times, and waited %v", n, waited)
		}
	})
}
