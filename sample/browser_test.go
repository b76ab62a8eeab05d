package sample

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
)

// jump seeks a media element and answers its duration, place and, for a picture,
// the sum of its pixels weighted by where they are. A busy browser says that it has
// sought before the picture of that place can be drawn.
const jump = `(async (kind, src, at) => {
	const m = document.createElement(kind); m.src = src; m.muted = true; m.preload = 'auto';
	const once = (ev) => new Promise((ok, no) => { m.addEventListener(ev, ok, {once: true}); m.addEventListener('error', () => no(m.error.message)); });
	await once('loadeddata');
	const drawn = kind == 'video' ? new Promise(ok => {
		const look = (_, frame) => Math.floor(frame.mediaTime) == Math.floor(at) ? ok() : m.requestVideoFrameCallback(look);
		m.requestVideoFrameCallback(look);
	}) : null;
	m.currentTime = at; await once('seeked'); await drawn;
	let sum = 0;
	if (kind == 'video') {
		const c = document.createElement('canvas'); c.width = m.videoWidth; c.height = m.videoHeight;
		const g = c.getContext('2d'); g.drawImage(m, 0, 0);
		g.getImageData(0, 0, c.width, c.height).data.forEach((v, i) => { if (i %% 4 == 0 && v > 128) sum += i; });
	}
	return [m.duration, m.currentTime, sum];
})(%q, %q, %f)`

// The picture at a second is the one of this second, in the browser that is there.
func TestABrowserSeeksToTheSecond(t *testing.T) {
	testrun.SkipUnderRace(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html>") })
	mux.HandleFunc("/video", func(w http.ResponseWriter, r *http.Request) {
		v, typ := Video()
		w.Header().Set("Content-Type", typ)
		http.ServeContent(w, r, "", time.Time{}, v)
	})
	mux.HandleFunc("/audio", func(w http.ResponseWriter, r *http.Request) {
		a, typ := Audio()
		w.Header().Set("Content-Type", typ)
		http.ServeContent(w, r, "", time.Time{}, a)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	b := browsertest.Start(t).Open(t, srv.URL)
	b.Allow("404") // the page has no icon
	b.Do(chromedp.Navigate(srv.URL + "/"))
	to := func(kind string, at float64) []float64 {
		got := browsertest.Evaluate[[]float64](b, fmt.Sprintf(jump, kind, "/"+kind, at))
		if d := got[0] - RecordingLength.Seconds(); d < -1 || d > 1 {
			t.Errorf("%s lasts %.1f s", kind, got[0])
		}
		if d := got[1] - at; d < -0.1 || d > 0.1 {
			t.Errorf("%s asked for %.1f is at %.1f", kind, at, got[1])
		}
		return got
	}
	for _, at := range []float64{0, 754, 3591} {
		if from, till := to("video", at+0.2)[2], to("video", at+0.8)[2]; from != till {
			t.Errorf("the picture changes within second %.0f", at)
		}
		if this, next := to("video", at+0.5)[2], to("video", at+1.5)[2]; this == next {
			t.Errorf("the picture of second %.0f is the one of the next", at)
		}
	}
	to("audio", 754)
}
