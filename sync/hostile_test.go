package syncer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// hostile stands before the service and spoils some of its answers as HTTP allows.
type hostile struct {
	http.Handler
	mu     sync.Mutex
	random *rand.Rand
	rate   float64
	cursor string // one that was given before
}

var nextCursor = regexp.MustCompile(`"next_cursor": ?"([^"]*)"`)

// ServeHTTP spoils an answer, or not.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	h.Handler.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	h.mu.Lock()
	spoil, kind, n := h.random.Float64() < h.rate, h.random.IntN(9), h.random.IntN(100)
	if m := nextCursor.FindSubmatch(body); m != nil && h.cursor == "" {
		h.cursor = string(m[1])
	}
	cursor := h.cursor
	h.mu.Unlock()
	for key, values := range rec.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	status := rec.Code
	if spoil {
		switch kind {
		case 0:
			w.Header().Set("Content-Type", "text/html")
			body = []byte("<html><title>Sign in</title>")
		case 1:
			body = nil
		case 2:
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
			body = body[:len(body)*n/100]
		case 3:
			status, body = 302, nil
			w.Header().Set("Location", "http://169.254.169.254/latest/meta-data")
		case 4:
			status, body = 429, nil
			w.Header().Set("Retry-After", []string{"-5", "0", "+Inf", "NaN", "Mon, 01 Jan 2001 00:00:00 GMT", "soon", "86399", "", "0x10", "１０"}[n%10])
		case 5:
			status = 503
			w.Header().Set("Retry-After", time.Now().Add(time.Duration(n)*time.Minute).UTC().Format(http.TimeFormat))
		case 6:
			w.Header().Set("Content-Encoding", "gzip")
		case 7:
			status, body = 204, nil
		case 8:
			body = nextCursor.ReplaceAll(body, []byte(`"next_cursor":"`+cursor+`"`))
		}
	}
	for key := range w.Header() {
		if n%3 == 0 && bytes.HasPrefix([]byte(key), []byte("Ratelimit")) {
			w.Header().Set(key, []string{"-1", "99999999999999999999", "x", "0"}[kind%4])
		}
	}
	w.WriteHeader(status)
	w.Write(body)
}

// TestHostileAnswersDoNoHarm runs the daemon against a service whose answers are spoilt
// by a seed. No meeting goes or loses content, and once the answers are right again all
// is there.
func TestHostileAnswersDoNoHarm(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runHostile(t, seed) })
		})
	}
}

func runHostile(t *testing.T, seed uint64) {
	const meetings = 25
	u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, rig.Meetings(meetings, rig.Today().Add(-time.Hour), 20*time.Hour))
	h := &hostile{Handler: u.Wire.Handler, random: rand.New(rand.NewPCG(seed, 1)), rate: 0.3}
	u.Wire.Handler = h
	ar := rig.NewArchive(t, archivetest.Dir(t))
	_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	defer stop()
	time.Sleep(3 * 24 * time.Hour)
	first := meetingCounts(t, ar)
	h.mu.Lock()
	h.rate = 0
	h.mu.Unlock()
	time.Sleep(7 * 24 * time.Hour)
	if c := meetingCounts(t, ar); first.Gone > 0 || c.Gone > 0 || c.Meetings != meetings || c.WithTranscript != meetings || c.WithSummary != meetings || c.WithRecording != meetings {
		t.Errorf("seed %d: while it was hostile %+v, afterwards %+v", seed, first, c)
	}
}
