package years

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/testrun"
	"minutebook/service"
)

// trouble is something that holds up the work of a rush. begin begins it, and returns the function that ends it.
// After it has lasted for some time the program may pause for a time that the documents name.
type trouble struct {
	name  string
	begin func(w *world, g *rand.Rand) (end func())
	pause func(w *world, lasted time.Duration) time.Duration
}

// troubles are those that a rush may meet.
var troubles = []trouble{
	{"a stop", (*world).beginStop, always(0)},
	{"a kill", (*world).beginKill, always(time.Minute)}, // calls that broke off keep their slots for longer
	{"a storm", (*world).beginStorm, retried},
	{"lowered limits", (*world).beginLimits, raised},
	{"a sick disk", (*world).beginSickness, always(time.Minute)},
	{"a wrong clock", (*world).beginSkew, always(5 * time.Minute)}, // it is read so often at least
	{"a silent bucket", (*world).beginSilence, retried},
}

func always(d time.Duration) func(*world, time.Duration) time.Duration {
	return func(*world, time.Duration) time.Duration { return d }
}

// raised is how long the program may go on to keep a limit that was lowered for some time: until
// Retry-After is over and a call says that it is the usual one. Where answers have no RateLimit-*, it
// tries a call more after 5 minutes, and once that is refused after 10, 20 and 40, and then comes to
// 30 calls within six minutes (docs/limits.md).
func raised(w *world, lasted time.Duration) time.Duration {
	tried := 5 * time.Minute
	if !w.traits.lacksHeaders {
		return 2 * time.Minute
	}
	for sum := tried; sum <= lasted; sum += tried {
		tried *= 2
	}
	return tried + 6*time.Minute
}

// retried is for how long failed recordings and awaited content rest after they have failed for some
// time: recordings are tried again after 15 minutes and an hour, content that is not there 5, 15, 60
// and 180 minutes after the first look (docs/sync.md).
func retried(_ *world, lasted time.Duration) time.Duration {
	if lasted < 10*time.Minute {
		return 15 * time.Minute
	}
	return time.Hour
}

// disturbed is how many meetings are recorded at once before a trouble.
const disturbed = 60

// checkRecovery has a person record meetings at once, with the usual schedule, and holds up the work
// for some time. From the end of the trouble it takes no longer than haste allows, and the pauses.
func (w *world) checkRecovery() {
	if w.house == nil {
		return
	}
	g := newRand(w.seed, "recovery")
	t := troubles[g.IntN(len(troubles))]
	if t.name == "a silent bucket" && !w.hasBucket() {
		t = troubles[0]
	}
	w.recoverFrom(t, g)
}

// recoverFrom has the work of a rush be held up by a trouble.
func (w *world) recoverFrom(t trouble, g *rand.Rand) {
	lasts := time.Duration(20+g.IntN([]int{120, 40 * 60}[g.IntN(2)])) * time.Second
	w.config.schedule.CatchUp = "*/5 * * * *"
	w.house.reload()
	h := w.beginHaste(disturbed, "recovery")
	if h == nil {
		return
	}
	time.Sleep(time.Duration(g.IntN(40)) * time.Second)
	w.journal.note("%s for %s", t.name, lasts)
	end := t.begin(w, g)
	time.Sleep(lasts)
	end()
	w.journal.note("that is over")
	h.wait = t.pause(w, lasts)
	w.journal.note("then %s may pass", h.wait)
	if w.beginCount(h); w.isListPending(h) { // the rest of the list is read by the next catch-up
		h.wait += 5 * time.Minute
	}
	w.judgeHaste(h)
}

// isListPending reports whether some of the meetings are not in the archive yet.
func (w *world) isListPending(h *haste) bool {
	return slices.ContainsFunc(h.left, func(m *meeting) bool {
		_, err := w.house.archive.Row(w.house.life, m.id)
		return err != nil
	})
}

func (w *world) beginStop(*rand.Rand) (end func()) {
	w.house.close()
	return func() { w.start(w.dataDir) }
}

func (w *world) beginKill(*rand.Rand) (end func()) {
	synctest.Wait()
	old, dir := w.house, w.newDir()
	w.must(copyDir(old.dir, dir), "copy the data directory")
	old.dead.Store(true)
	old.close()
	_ = os.RemoveAll(old.dir)
	w.dataDir = dir
	return func() { w.start(w.dataDir) }
}

// honestFaults are the faults of a storm that hide no meeting, whose lists are read again at night
// alone, and that ask for no pause.
var honestFaults = []string{"reset before", "reset after", "5xx", "cut", "header cut", "ends early", "slow", "not found", "blank content", "double item", "shuffle", "no headers", "odd size"}

func (w *world) beginStorm(g *rand.Rand) (end func()) {
	s := storm{rates: map[string]float64{}, end: time.Now().Add(24 * time.Hour)}
	for _, name := range honestFaults {
		if g.IntN(2) == 0 {
			s.rates[name] = min(1, 4*max(faults[name], strangeFaults[name])*g.Float64())
		}
	}
	w.setStorm(s)
	return func() { w.setStorm(storm{}) }
}

func (w *world) setStorm(s storm) {
	w.journal.note("faults: %v", s.rates)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.storm = s
}

func (w *world) beginLimits(g *rand.Rand) (end func()) {
	lowered := []service.Limits{{Elevated: true}, {DownloadLimit: 3 + g.IntN(10)}, {Global: 20, Heavy: 10}}[g.IntN(3)]
	lowered.Window = w.window()
	w.mu.Lock()
	w.lowered = true
	w.mu.Unlock()
	w.setLimits(lowered)
	return func() { w.setLimits(w.usualLimits()) } // an answer may still be on its way
}

func (w *world) beginSickness(*rand.Rand) (end func()) {
	h := w.house
	h.troubled.Store(time.Now().UnixNano())
	h.sick.Store(1)
	return func() { h.sick.Store(0) }
}

func (w *world) beginSkew(g *rand.Rand) (end func()) {
	w.skew.Store(int64([]time.Duration{-26 * time.Hour, 26 * time.Hour, 40 * 24 * time.Hour, -40 * 24 * time.Hour}[g.IntN(4)]))
	return func() { w.skew.Store(0) }
}

func (w *world) beginSilence(g *rand.Rand) (end func()) {
	o := w.bucket
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away, o.until = []string{"bucket stalls", "bucket reset before", "bucket busy", "bucket broken"}[g.IntN(4)], time.Now().Add(24*time.Hour)
	return o.calm
}

// TestRecovery has each trouble hold up the work of a rush, at the beginning of a year.
func TestRecovery(t *testing.T) {
	testrun.SkipUnderRace(t)
	setBucketKeys(t)
	tries := 1
	if testrun.IsLong() {
		tries = 10
	}
	for i, trouble := range troubles {
		for n := range tries {
			seed := uint64(firstHarsh + 10*n + i)
			t.Run(fmt.Sprint(trouble.name, " ", seed), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { recoverAtFirst(t, seed, dir, trouble) })
			})
		}
	}
}

func recoverAtFirst(t *testing.T, seed uint64, dir string, trouble trouble) {
	w := newWorld(t, seed, dir, options{days: 75})
	defer func() {
		p := recover()
		w.end()
		if _, isFinding := p.(abort); p != nil && !isFinding {
			panic(p)
		}
		if w.finding != "" {
			t.Errorf("%s\n%s", w.finding, w.journal.tail(60))
		}
		t.Log(w.journal.tail(6))
	}()
	for trouble.name == "a silent bucket" && !w.hasBucket() {
		w.seed++
	}
	for _, p := range w.org.people {
		if p.isActive() {
			w.newKeyOnce(p)
		}
	}
	w.putAll()
	w.config.downloads = true
	w.start(w.dataDir)
	w.mend()
	time.Sleep(2 * 24 * time.Hour)
	w.recoverFrom(trouble, newRand(seed, "recovery"))
}
