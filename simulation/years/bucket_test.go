package years

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/internal/bucket"
	"minutebook/internal/loopback"
	"minutebook/internal/testrun"
)

// firstBucketed is the first seed some of whose recordings are in a bucket, and all of whose
// recordings differ.
const firstBucketed = 10000

// bucketURL is where the recordings of such a seed are. Its name is in every error that a
// bucket's server makes.
const (
	bucketURL  = "s3://recordings/minutes?region=nowhere&endpoint=https%3A%2F%2Fbucket.test"
	bucketName = "bucket recordings at bucket.test"
)

// bucketFaults are those of a bucket's server, with their greatest rates.
var bucketFaults = map[string]float64{
	"bucket reset before": 0.3, "bucket reset after": 0.3, "bucket busy": 0.5, "bucket broken": 0.3, "bucket cut": 0.3, "bucket stalls": 0.1, "bucket refuses": 0.1,
}

// hasBucket reports whether the recordings of a seed are in a bucket.
func (w *world) hasBucket() bool {
	return w.seed >= firstBucketed && newRand(w.seed, "bucket").IntN(2) == 0
}

// mediaURL is where the recordings are.
func (w *world) mediaURL() string {
	if w.hasBucket() {
		return bucketURL
	}
	return ""
}

// line leads a start of the program, or a command without one, to the bucket.
func (w *world) line(h *house) bucket.Line { return bucket.Line{Transport: bucketWire{w, h}} }

// bucketWire carries calls to the bucket.
type bucketWire struct {
	w *world
	h *house // nil: a command
}

// RoundTrip carries a call through the weather.
func (c bucketWire) RoundTrip(r *http.Request) (*http.Response, error) {
	w, o := c.w, c.w.bucket
	name := "bucket " + r.Method
	g := w.dice.roll(name)
	rates := w.present()
	hit := func(fault string) bool {
		chance := g.Float64()
		if w.disabled["fault:"+fault] || !o.isAway(fault) && chance >= rates[fault] {
			return false
		}
		w.journal.note("%s: %s", name, fault)
		o.noteHit()
		return true
	}
	dies := func() bool { return c.h != nil && c.h.dead.Load() }
	if err := pauseFor(r, time.Duration(g.IntN(100))*time.Millisecond+time.Duration(g.IntN(1e6))); err != nil {
		return nil, err
	}
	if s := w.disk.present(); s != nil && s.reads && r.Method == http.MethodGet {
		if err := pauseFor(r, s.draw(w.seed, "read")); err != nil {
			return nil, err
		}
	}
	isCut, late := hit("bucket cut"), g.IntN(2) == 0
	switch {
	case dies() && !late:
		return nil, syscall.ECONNRESET
	case hit("bucket stalls"):
		if err := pauseFor(r, time.Minute); err != nil {
			return nil, err
		}
		return nil, os.ErrDeadlineExceeded
	case hit("bucket reset before"):
		return nil, syscall.ECONNRESET
	case hit("bucket busy"):
		return refuse(r, http.StatusServiceUnavailable, "SlowDown"), nil
	case hit("bucket broken"):
		return refuse(r, http.StatusInternalServerError, "InternalError"), nil
	case hit("bucket refuses"):
		return refuse(r, http.StatusForbidden, "AccessDenied"), nil
	}
	resp, err := (&loopback.Transport{Handler: o}).RoundTrip(r) // also of a program that died meanwhile
	if err != nil {
		return nil, err
	}
	if err := pauseFor(r, time.Duration(g.IntN(100))*time.Millisecond); err != nil {
		return nil, err
	}
	if dies() || hit("bucket reset after") {
		return nil, syscall.ECONNRESET
	}
	if body, err := io.ReadAll(resp.Body); err == nil && isCut && len(body) > 0 {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:g.IntN(len(body))]), cutReader{}))
	} else {
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}

func refuse(r *http.Request, status int, code string) *http.Response {
	return answer(r, status, "application/xml", fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, code))
}

func (o *objects) isAway(fault string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.away == fault && time.Now().Before(o.until)
}

func (o *objects) noteHit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hit = time.Now()
}

// isTroubled reports whether a fault hit a call to the bucket a short time ago: then the program
// may be waiting still.
func (o *objects) isTroubled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.hit.IsZero() && time.Since(o.hit) < 2*time.Hour
}

// isExcused reports whether a command failed because the bucket did.
func (w *world) isExcused(err error) bool {
	return err != nil && strings.Contains(err.Error(), bucketName) && (w.bucket.isTroubled() || w.disk.readsWereSlow())
}

// isLeftover reports whether a damage may be a recording in the bucket from after the backup
// from which the archive comes.
func (w *world) isLeftover(d archive.Damage) bool {
	return w.restores > 0 && w.hasBucket() && d.Class == archive.DamageFileExtra
}

// loseBucket has the bucket's server fail all calls for some time.
func (w *world) loseBucket(g *rand.Rand) {
	kinds := []string{"bucket stalls", "bucket reset before", "bucket reset after", "bucket busy", "bucket broken", "bucket refuses"}
	kind, d := kinds[g.IntN(len(kinds))], time.Duration(1+g.IntN(48*3600))*time.Second
	if !w.hasBucket() {
		return
	}
	w.journal.note("the bucket is away for %s: %s", d, kind)
	o := w.bucket
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away, o.until = kind, time.Now().Add(d)
}

// calm ends the faults of the bucket.
func (o *objects) calm() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = ""
}

var linkedDownload = regexp.MustCompile(`/media/([^/"]+)/`)

// learnDownload notes whose recording a link leads to.
func (w *world) learnDownload(id int64, body []byte) {
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	for _, found := range linkedDownload.FindAllSubmatch(body, -1) {
		w.bucket.owner[string(found[1])] = id
	}
}

// film returns the recording of a meeting. Each piece of it names the meeting and its place, so that
// no piece can be missing, or be another's.
func (w *world) film(id int64) []byte {
	if w.seed < firstBucketed {
		return sandboxFilm
	}
	film := make([]byte, 0, len(sandboxFilm))
	for len(film) < len(sandboxFilm) {
		film = fmt.Appendf(film, "%s%04d", token(id), len(film))
	}
	return film
}

// mark makes a recording that is sent the one of its meeting: the sandbox has the same bytes for
// all.
func (w *world) mark(resp *http.Response, path string) {
	w.bucket.mu.Lock()
	id, known := w.bucket.owner[strings.Split(path, "/")[2]]
	w.bucket.mu.Unlock()
	if w.seed < firstBucketed || !known || resp.StatusCode/100 != 2 {
		return
	}
	body, err := io.ReadAll(resp.Body)
	from := 0
	if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil {
		from = 0
	}
	if film := w.film(id); from < len(film) {
		copy(body, film[from:])
	}
	if resp.Body = io.NopCloser(bytes.NewReader(body)); err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), cutReader{}))
	}
}

// checkRecording compares the recording of a meeting, as the program reads it.
func (w *world) checkRecording(m *meeting, list []archive.Attached) {
	for _, a := range list {
		if content, ok := w.readRecording(m.id, a); ok {
			w.compareRecording(m, content)
		}
	}
}

// compareRecording compares the stored content of a meeting's recording.
func (w *world) compareRecording(m *meeting, content []byte) {
	film, at := w.film(m.id), 0
	for at < min(len(content), len(film)) && content[at] == film[at] {
		at++
	}
	if at < max(len(content), len(film)) {
		w.fail("the recording of %d has %d bytes, and from byte %d on it is %.20q", m.id, len(content), at, content[at:])
	}
}

// checkStored compares the stored recordings of a meeting. Those in the bucket it reads there, so
// that the draws of the program's calls stay the same; verify looks for missing ones.
func (w *world) checkStored(m *meeting, list []archive.Attached) {
	if !w.hasBucket() {
		w.checkRecording(m, list)
		return
	}
	for _, a := range list {
		if content, err := os.ReadFile(filepath.Join(w.bucket.dir, "minutes", a.SHA256[:2], a.SHA256)); err == nil {
			w.compareRecording(m, content)
		}
	}
}

// readRecording reads a stored recording of a meeting, unless the bucket fails.
func (w *world) readRecording(id int64, a archive.Attached) (content []byte, ok bool) {
	r, _, err := w.house.archive.Media().Open(w.house.life, a.SHA256)
	if err == nil {
		content, err = io.ReadAll(r)
		err = errors.Join(err, r.Close())
	}
	if w.isExcused(err) {
		return nil, false
	}
	w.must(err, fmt.Sprintf("read the recording of %d", id))
	return content, true
}

// TestAStopDoesNotWaitForTheBucket stops the program while it attaches a recording, which the
// bucket has, and the bucket answers nothing any more.
func TestAStopDoesNotWaitForTheBucket(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	setBucketKeys(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10007, dir, options{days: 75})
		defer w.end()
		for _, p := range w.org.people {
			w.newKeyOnce(p)
		}
		w.putAll()
		w.bucket.onceStored, w.config.downloads = "bucket stalls", true
		h := w.start(w.dataDir)
		w.mend()
		for end := time.Now().Add(24 * time.Hour); !w.bucket.isAway("bucket stalls"); time.Sleep(time.Second) {
			if time.Now().After(end) {
				t.Fatal("no recording is stored")
			}
		}
		h.close()
		if w.finding != "" {
			t.Error(w.finding)
		}
		w.bucket.calm()
		h = w.start(w.dataDir)
		time.Sleep(24 * time.Hour)
		for _, m := range w.org.meetings {
			list, err := h.archive.MediaOf(t.Context(), m.id)
			if err == nil {
				w.checkRecording(m, list)
			}
		}
	})
}

// setBucketKeys sets the credentials of the bucket.
func setBucketKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "simulated")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a secret of the bucket, simulated")
}
