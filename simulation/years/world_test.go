package years

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"
)

// firstDay is the day on which every world begins.
var firstDay = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// options of a run.
type options struct {
	days     int
	disabled map[string]bool              // decisions that are left out: "event:17", "fault:cut"
	until    time.Time                    // the run ends here; zero: with a whole check at the end
	share    time.Duration                // of the processor, after which it ends anywhere; zero: never
	after    func(w *world, event string) // is called after each event, by a test that plants a fault
}

// outcome of a run.
type outcome struct {
	finding  string
	at       time.Time
	journal  *journal
	logs     [][]byte
	calls    int
	meeting  int
	accounts int // most at a time
	webhooks int // taken from the archive's own service
	due      int // that had to come, counted at the checks
	years    float64
	events   []string // the names of the planned events, in their order
	memory   int64    // kept by the program, at most
	routines int      // likewise, goroutines
	cut      bool     // it ended early, since it had used its share

	people   []string         // of the beginning, for a story
	meetings map[int64]string // likewise
}

// world is one run of a seed. The driver, which is the test's goroutine, does
// everything that people do; other goroutines run only while it sleeps.
type world struct {
	t        *testing.T
	seed     uint64
	disabled map[string]bool
	after    func(w *world, event string)
	began    time.Duration // of the processor's time, when the run began
	cut      bool          // the run has used its share
	dir      string
	traits   traits
	org      *org
	dice     *dice
	journal  *journal
	oracle   *oracle
	upstream *upstream
	told     *toldLimits
	reads    *firstReads
	app      *app
	bucket   *objects // of recordings, where there is one
	disk     *slowDisk
	logger   zerolog.Logger
	logs     *logWriter

	config   settings
	read     []account // that the program reads: the configured ones of the last start or reload
	house    *house    // nil while the program does not run
	off      time.Time // until when the last one could commit
	dataDir  string
	starts   int
	dirs     int
	restores int
	skew     atomic.Int64
	todo     agenda
	backups  []backupDone
	past     []pastArchive
	// backupKey is the key for which backups and exports are encrypted; nil: they are not.
	backupKey *age.X25519Identity
	sealed    map[string]bool // recordings in backups that were seen to be encrypted
	hooks     []*hook         // at the archive's own service, by the last part of their addresses
	forgotAt  map[int64]time.Time
	// forgetting are the meetings of which a kill cut the forgetting off.
	forgetting map[int64]time.Time
	acting     atomic.Bool // the driver does something
	copy       follower
	busy       float64 // days, after which the world is calm
	nextID     int64
	keys       int
	keyIDs     map[string]string // of the keys at the service
	accounts   int               // configured, at most at a time
	events     []string

	mostMemory     int64 // of the program, at quiet times
	mostGoroutines int

	due         int       // webhooks that had to come
	userChanged time.Time // when somebody's rights last changed
	calmSince   calmCalls

	stubborn string    // the lists at which the service fails until relents
	relents  time.Time // "" and zero: none

	mu       sync.Mutex // guards the fields below
	storm    storm
	owners   map[string]string // API keys ever made, and whose they are
	signing  []string          // webhook secrets ever made, without their prefix
	finding  string
	foundAt  time.Time
	trigger  chan struct{}
	lowered  bool      // a limit is, or was a moment ago
	shared   time.Time // until then another program uses a key
	walks    map[string]walk
	walking  string // the key of the walk that last woke the driver
	lacks    []lack
	skewedAt time.Time // when the clock was last set
}

// abort ends a run that has found something.
type abort struct{}

// report notes a finding; the run ends at the next border.
func (w *world) report(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finding == "" {
		w.finding, w.foundAt = strings.ReplaceAll(fmt.Sprintf(format, args...), w.dir, ""), time.Now()
		w.journal.note("FOUND: %s", w.finding)
	}
}

// fail reports a finding and ends the run. Only the driver calls it.
func (w *world) fail(format string, args ...any) {
	w.report(format, args...)
	panic(abort{})
}

func (w *world) must(err error, doing string) {
	if err != nil {
		w.fail("%s: %v", doing, err)
	}
}

func (w *world) journalNote(format string, args ...any) { w.journal.note(format, args...) }

// run runs a seed in a bubble.
func run(t *testing.T, seed uint64, o options) (out outcome) {
	dir, err := os.MkdirTemp("", "years")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if keep := os.Getenv("MINUTEBOOK_KEEP"); keep != "" && out.finding != "" {
			_ = os.CopyFS(keep, os.DirFS(dir))
		}
		_ = os.RemoveAll(dir)
	}()
	setBucketKeys(t)
	if _, err := idleIndex(); err != nil {
		t.Fatal(err)
	}
	stop := watchTime(t, seed)
	defer stop()
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		var w *world
		var end time.Time
		synctest.Test(t, func(t *testing.T) {
			w = newWorld(t, seed, dir, o)
			people, meetings := w.describePeople(), w.describeMeetings()
			defer func() {
				p := recover()
				w.end()
				end = time.Now().Round(0)
				out = outcome{accounts: w.accounts, finding: w.finding, at: w.foundAt, journal: w.journal, logs: w.logs.last, calls: w.upstream.count.total,
					meeting: len(w.org.meetings), webhooks: w.countWebhooks(), due: w.due, years: time.Since(firstDay).Hours() / 24 / 365, events: w.events, memory: w.mostMemory, routines: w.mostGoroutines, cut: w.cut,
					people: people, meetings: meetings}
				if _, ok := p.(abort); p != nil && !ok {
					panic(p)
				}
			}()
			w.live(o)
		})
		if out.finding == "" && o.until.IsZero() && !out.cut {
			out.finding = w.checkAnswers(t, end)
		}
	})
	return out
}

// watchTime ends the program where a goroutine never waits, so that virtual time does not
// go on and processor time does. A busy machine alone ends nothing for two hours.
func watchTime(t *testing.T, seed uint64) (stop func()) {
	began, used, done := time.Now(), processorTime(t), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Second):
			}
			if processorTime(t)-used > 10*time.Minute || time.Since(began) > 2*time.Hour {
				panic(fmt.Sprintf("seed %d: time does not go on", seed))
			}
		}
	}()
	return func() { close(done) }
}

func newWorld(t *testing.T, seed uint64, dir string, o options) *world {
	time.Sleep(time.Until(firstDay))
	w := &world{t: t, seed: seed, disabled: o.disabled, after: o.after, began: processorTime(t), dir: dir, dice: newDice(seed), journal: &journal{dir: dir}, forgotAt: map[int64]time.Time{}, forgetting: map[int64]time.Time{},
		owners: map[string]string{}, keyIDs: map[string]string{}, sealed: map[string]bool{}, nextID: 100}
	w.oracle, w.told, w.reads = newOracle(w), newToldLimits(), newFirstReads()
	w.logger, w.logs = newLogger(w)
	w.disk = &slowDisk{slept: map[string]time.Duration{}}
	w.bucket = newObjects(filepath.Join(dir, "bucket"))
	w.org = drawOrg(seed)
	w.traits = drawTraits(seed, w.org.people)
	for _, m := range w.org.meetings {
		w.harden(m)
	}
	w.drawLacks()
	w.drawStubborn()
	var err error
	if w.upstream, err = newUpstream(filepath.Join(dir, "service"), w.org, w); err != nil {
		t.Fatal(err)
	}
	w.app, err = newApp(w)
	w.must(err, "make an app")
	w.config = w.drawSettings()
	w.dataDir = w.newDir()
	w.must(w.putOldArchive(), "make an old archive")
	w.must(w.makeBackupKey(), "make a key for backups")
	return w
}

func (w *world) newDir() string {
	w.dirs++
	return filepath.Join(w.dir, fmt.Sprintf("data%d", w.dirs))
}

// present returns the rates of the faults of this moment.
func (w *world) present() map[string]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.storm.end) {
		return w.storm.rates
	}
	return nil
}

// isReady reports whether content of a meeting exists at the service.
func (w *world) isReady(id int64, member string) bool {
	m := w.org.meeting(id)
	if m == nil || member == "crm_matches" && w.seed < firstVaried || m.isMute && member != "transcript" && member != "crm_matches" {
		return false
	}
	return !time.Now().Before(m.ready.Add(m.late[member]))
}

// answered judges the status of an answer of the service itself: it refuses a call with
// 429 only while a limit is lowered, and content in the list to OAuth apps always.
func (w *world) answered(who string, r *http.Request, path string, sent time.Time, status int) {
	w.mu.Lock()
	lowered := w.lowered || time.Since(w.shared) < 2*time.Minute
	w.mu.Unlock()
	if status == http.StatusForbidden && strings.HasSuffix(path, "/download") {
		w.oracle.mu.Lock()
		w.oracle.forbade[fmt.Sprint(who, " ", recordingOf(path))] = sent
		w.oracle.mu.Unlock()
	}
	if status == 429 && !lowered {
		w.report("the service refuses a call of %s to %s with 429, and no limit is lowered", who, callName(path))
	}
	q := r.URL.Query()
	if path == "/meetings" && r.Header.Get("Authorization") != "" && (q.Get("include_transcript") == "true" || q.Get("include_summary") == "true") {
		w.report("the app asks for content in the list of %s, and is answered %d", who, status)
	}
}

// arm has the next later page of a list wake the driver, in the middle of a walk.
func (w *world) arm() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trigger = make(chan struct{})
	return w.trigger
}

func (w *world) passTrigger(path, who, cursor string) {
	w.mu.Lock()
	ch := w.trigger
	if ch != nil && path == "/meetings" && cursor != "" {
		w.trigger, w.walking = nil, walkKey(who, cursor)
	} else {
		ch = nil
	}
	w.mu.Unlock()
	if ch != nil {
		close(ch)
		time.Sleep(time.Second) // the driver acts meanwhile
	}
}
