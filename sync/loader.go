package syncer

import (
	"context"
	"net/http"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/internal/outbound"
)

// loader brings recordings to the disk: it requests as many downloads as can be
// fetched before they lapse, awaits them and fetches them, earliest expiry first.
// What it knows of each is in the archive's queue, so that it goes on after any
// interruption.
type loader struct {
	s       *Syncer
	store   archive.Store
	pace    pace
	meter   meter
	slots   *slots
	asking  *slots        // for requests: more of them waiting would crowd out the walks
	running chan struct{} // held by the one run
	bell    chan struct{} // rung when something may be started
	guarded *http.Client  // dials globally routable addresses only
	private *http.Client

	mu     sync.Mutex // guards what follows
	open   map[int64]*task
	paused string // why nothing is started
}

// task is a recording on its way, owned by one goroutine.
type task struct {
	row     archive.Download
	url     string        // the link, known to this process only
	confirm chan struct{} // its callback came
	looked  time.Time     // when it was last seen being generated; zero: not yet
	heard   bool          // the last look was made because of its callback
	once    bool          // somebody waits: a fetch that does not get on is left for later
	tally   *tally
	sum     *summer // of the partial file, as far as this process has seen it
	cancel  func()  // ends it
	ended   chan struct{}
}

func newLoader(s *Syncer) *loader {
	l := &loader{s: s, store: s.archive.Media(), slots: newSlots(s.opt.Fetchers), asking: newSlots(2), running: make(chan struct{}, 1),
		bell: make(chan struct{}, 1), open: map[int64]*task{}}
	l.guarded, l.private = s.opt.MediaHTTP, s.opt.MediaHTTP
	if s.opt.MediaHTTP == nil {
		l.guarded, l.private = mediaClient(false), mediaClient(true)
	}
	return l
}

// mediaClient fetches recordings. A redirect is followed a few times, never to
// plain HTTP from a secret address, and never told where it came from, since
// that address is a credential.
func mediaClient(private bool) *http.Client {
	transport := outbound.NewTransport(outbound.Options{AllowPrivate: private, MaxIdlePerHost: 4})
	transport.ResponseHeaderTimeout = stall
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			req.Header.Del("Referer")
			if len(via) > 3 || (via[0].URL.Scheme == "https" && req.URL.Scheme != "https") {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// ring makes a run look at the queue again.
func (l *loader) ring() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// confirm tells that a callback announced a recording's download. What the
// callback said is not believed: the download is read.
func (l *loader) confirm(id int64) {
	l.mu.Lock()
	t := l.open[id]
	l.mu.Unlock()
	if t == nil {
		return
	}
	select {
	case t.confirm <- struct{}{}:
	default:
	}
}

// run works on the queue until ctx ends or, with once, until nothing is open and
// nothing is due. There is one run at a time.
func (l *loader) run(ctx context.Context, once bool, t *tally) error {
	select {
	case l.running <- struct{}{}:
		defer func() { <-l.running }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := l.s.archive.OpenDownloads(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		l.start(ctx, &tasks, row, once, t)
	}
	for ctx.Err() == nil {
		next, err := l.fill(ctx, &tasks, once, t)
		if ctx.Err() != nil {
			break
		}
		l.s.trouble("downloads", err)
		now := l.s.now()
		if once && l.idle() && err == nil && (next.IsZero() || next.After(now)) {
			return nil
		}
		if once && err != nil && l.idle() {
			return err
		}
		if err != nil {
			next = now.Add(time.Minute)
		}
		waitChange(ctx, l.bell, next, now)
	}
	return ctx.Err()
}

func (l *loader) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) == 0
}

// fill starts as many of the wanted recordings as the pace allows and returns
// when the next one is due; zero when that only depends on those that are open.
func (l *loader) fill(ctx context.Context, tasks *sync.WaitGroup, once bool, t *tally) (time.Time, error) {
	for {
		now := l.s.now()
		if err := l.s.roomFor(0); err != nil {
			l.pause(err)
			return time.Time{}, err
		}
		l.pause(nil)
		links, n := l.links()
		if !l.pace.allow(now, links, l.s.opt.Fetchers) {
			return time.Time{}, nil
		}
		rows, err := l.s.archive.WantedDownloads(ctx, now, n+1)
		if err != nil {
			return time.Time{}, err
		}
		row, ok := l.firstNotOpen(rows)
		if !ok {
			if next, err := l.s.archive.NextWanted(ctx, now); err != nil || next.After(now) {
				return next, err
			}
			return time.Time{}, nil
		}
		l.start(ctx, tasks, row, once, t)
	}
}

func (l *loader) firstNotOpen(rows []archive.Download) (archive.Download, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range rows {
		if l.open[row.RecordingID] == nil {
			return row, true
		}
	}
	return archive.Download{}, false
}

// links are the downloads that are open.
func (l *loader) links() ([]link, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var links []link
	for _, t := range l.open {
		row := t.row
		links = append(links, link{Expires: row.ExpiresAt, Left: max(0, row.Size-row.Fetched)})
	}
	return links, len(l.open)
}

func (l *loader) pause(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = ""
	if err != nil {
		l.paused = err.Error()
	}
}

// start gives a recording a goroutine of its own.
func (l *loader) start(ctx context.Context, tasks *sync.WaitGroup, row archive.Download, once bool, t *tally) {
	one := &task{row: row, confirm: make(chan struct{}, 1), once: once, tally: t, ended: make(chan struct{})}
	ctx, one.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	l.open[row.RecordingID] = one
	l.mu.Unlock()
	tasks.Go(func() {
		defer one.cancel()
		if err := l.s.guard("downloads", func() error { return l.carry(ctx, one) }); err != nil && ctx.Err() == nil {
			l.s.log.Warn().Int64("recording_id", row.RecordingID).Err(err).Msg("download interrupted")
			l.s.trouble("downloads", err)
		}
		l.mu.Lock()
		delete(l.open, row.RecordingID)
		l.mu.Unlock()
		close(one.ended)
		l.ring()
	})
}

// save writes the task's row and makes it known to the planner.
func (l *loader) save(ctx context.Context, t *task, row archive.Download) error {
	if err := l.s.archive.SaveDownload(context.WithoutCancel(ctx), row); err != nil {
		return err
	}
	l.mu.Lock()
	t.row = row
	l.mu.Unlock()
	return nil
}
