package syncer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/guard"
	"minutebook/internal/outbound"
	"minutebook/internal/pause"
)

// downloader brings recordings to the disk. It requests as many downloads as it
// can fetch before their links expire, waits until the service has generated
// them and fetches them, earliest expiry first. Its state is the archive's
// queue, so it goes on after any interruption.
type downloader struct {
	s             *Syncer
	store         media.Store
	pace          pacer
	meter         meter
	fetchSlots    *prioritySemaphore
	runLock       chan struct{} // full while a run goes on
	wakeup        chan struct{} // signalled when a download may be started
	isBehind      atomic.Bool   // recordings of stored meetings may not be wanted yet
	publicClient  *http.Client  // dials globally routable addresses only
	privateClient *http.Client

	mu          sync.Mutex // guards the fields below
	tasks       map[int64]*downloadTask
	queue       wantedQueue
	failed      map[int64]error // by recording: an error that its row does not have
	paused      string          // why nothing is started
	blocked     time.Time       // when the last of the blocks ends for which recordings were postponed
	unavailable error           // why the store could not be used when it was last tried; nil: it could
}

// downloadTask is a recording that is being worked on. One goroutine owns it.
type downloadTask struct {
	row          archive.Download // l.mu guards its changes
	url          string           // the link; never written down
	asked        time.Time        // since when a call for it waits or is under way; zero: none. l.mu guards it
	announced    chan struct{}    // signalled by its callback
	lastPoll     time.Time        // the last poll that found it being generated; zero: none
	wasAnnounced bool             // a callback caused the last poll
	waitedFor    bool             // a person waits: a fetch without progress is left for the next run
	stats        *runStats
	hasher       *fileHasher // of the partial file; nil: not read by this process yet
	cancel       func()      // ends it
	done         chan struct{}
}

// newDownloader returns a downloader that works for s.
func newDownloader(s *Syncer) *downloader {
	l := &downloader{s: s, store: s.archive.Media(), fetchSlots: newPrioritySemaphore(s.opt.Fetchers), runLock: make(chan struct{}, 1),
		wakeup: make(chan struct{}, 1), tasks: map[int64]*downloadTask{}, failed: map[int64]error{}}
	l.publicClient, l.privateClient = s.opt.MediaHTTP, s.opt.MediaHTTP
	if s.opt.MediaHTTP == nil {
		l.publicClient, l.privateClient = mediaClient(false), mediaClient(true)
	}
	return l
}

// mediaClient returns a client for recordings. It follows up to three
// redirects, none from HTTPS to HTTP, and sends no Referer, since the address
// of a recording is a credential.
func mediaClient(private bool) *http.Client {
	transport := outbound.NewTransport(outbound.Options{AllowPrivate: private, MaxIdlePerHost: 4})
	transport.ResponseHeaderTimeout = stallTimeout
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

// wake makes the run look at the queue again.
func (l *downloader) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

// announce reports that a callback announced a recording's download. The
// downloader does not trust the callback: it reads the download from the
// service.
func (l *downloader) announce(id int64) {
	l.mu.Lock()
	t := l.tasks[id]
	l.mu.Unlock()
	if t == nil {
		return
	}
	select {
	case t.announced <- struct{}{}:
	default:
	}
}

// run works on the queue until ctx ends or, with once, until nothing is open
// and nothing is due. Only one run goes on at a time; others wait for it.
func (l *downloader) run(ctx context.Context, once bool, t *runStats) error {
	select {
	case l.runLock <- struct{}{}:
		defer func() { <-l.runLock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.noteStore(media.Check(ctx, l.store))
	for begun := false; ctx.Err() == nil; {
		var next time.Time
		var err error
		if !begun {
			err = l.begin(ctx, &tasks, once, t)
			begun = err == nil
		} else if l.isBehind.Swap(false) {
			if _, err = l.s.archive.WantDownloads(ctx); err != nil {
				l.isBehind.Store(true)
			}
		}
		if begun && err == nil {
			next, err = l.startWanted(ctx, &tasks, once, t)
		}
		if ctx.Err() != nil {
			break
		}
		l.s.reportHealth("downloads", cmp.Or(err, l.failure()))
		now := l.s.now()
		if once && l.isIdle() {
			select {
			case <-l.wakeup: // a task ended meanwhile: its row may be due again
				continue
			default:
			}
		}
		if once && l.isIdle() && (err != nil || !l.isAwaited(next)) {
			return cmp.Or(err, l.failure())
		}
		switch {
		case err != nil:
			next = now.Add(time.Minute)
		case next.IsZero() && !l.isIdle(): // another one may be due before the open ones end
			next = now.Add(longestBlock)
		}
		waitForChange(ctx, l.wakeup, next, now)
	}
	return ctx.Err()
}

// begin wants the recordings that a crash kept from the queue, and starts the open ones.
func (l *downloader) begin(ctx context.Context, tasks *sync.WaitGroup, once bool, t *runStats) error {
	l.mu.Lock()
	clear(l.failed) // of an earlier run
	l.mu.Unlock()
	if _, err := l.s.archive.WantDownloads(ctx); err != nil {
		return err
	}
	return l.startOpen(ctx, tasks, once, t)
}

// isIdle reports whether no recording is being worked on.
func (l *downloader) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks) == 0
}

// failure returns an error of this machine after which a recording rests, nil if none
// does.
func (l *downloader) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.failed)) {
		if err := l.failed[id]; !errors.Is(err, errLater) {
			return err
		}
	}
	return nil
}

// startOpen starts the recordings that were requested and that nobody works on: those
// of an earlier process, and those that could not go on and have rested.
func (l *downloader) startOpen(ctx context.Context, tasks *sync.WaitGroup, once bool, t *runStats) error {
	_, open := l.openLinks(ctx, false) // before the rows are read, as in startWanted
	rows, err := l.s.archive.OpenDownloads(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !open[row.RecordingID] {
			l.startTask(ctx, tasks, row, once, t)
		}
	}
	return nil
}

// startWanted starts as many wanted recordings as the pacer allows. It returns
// when to look again: when the next one is due, or zero when the open ones hide that.
func (l *downloader) startWanted(ctx context.Context, tasks *sync.WaitGroup, once bool, t *runStats) (time.Time, error) {
	for {
		now := l.s.now()
		if err := cmp.Or(l.s.checkDiskSpace(0), l.checkStore(ctx)); err != nil {
			l.setPaused(err)
			return time.Time{}, err
		}
		l.setPaused(nil)
		if !once { // a person's run leaves recordings that could not go on to the next run
			if err := l.startOpen(ctx, tasks, once, t); err != nil {
				return time.Time{}, err
			}
		}
		links, open := l.openLinks(ctx, once) // before the rows are read: a task that ends meanwhile leaves its row outdated
		if !l.pace.allowsAnother(now, links, l.s.opt.Fetchers) {
			return now.Add(longestBlock), nil // the open ones may be blocked by then
		}
		row, err := l.nextWanted(ctx, now, open)
		if errors.Is(err, archive.ErrNotFound) {
			if next, err := l.s.archive.NextWanted(ctx, now); err != nil || next.After(now) {
				return next, err
			}
			return time.Time{}, nil
		}
		if err != nil {
			return time.Time{}, err
		}
		l.startTask(ctx, tasks, row, once, t)
	}
}

// noteStore notes whether the store of the recordings could be used.
func (l *downloader) noteStore(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unavailable = err
}

// checkStore asks the store again after it could not be used. Until it can be, nothing
// is started: the service would generate recordings for links that lapse, and their
// files would fill this disk.
func (l *downloader) checkStore(ctx context.Context) error {
	l.mu.Lock()
	unavailable := l.unavailable
	l.mu.Unlock()
	if unavailable == nil {
		return nil
	}
	err := media.Check(ctx, l.store)
	if ctx.Err() == nil {
		l.noteStore(err)
	}
	return err
}

// setPaused notes why no download is started; nil means that downloads are
// started.
func (l *downloader) setPaused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = ""
	if err != nil {
		l.paused = err.Error()
	}
}

// startTask starts a goroutine for a recording.
func (l *downloader) startTask(ctx context.Context, tasks *sync.WaitGroup, row archive.Download, once bool, t *runStats) {
	task := &downloadTask{row: row, announced: make(chan struct{}, 1), waitedFor: once, stats: t, done: make(chan struct{})}
	ctx, task.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	l.tasks[row.RecordingID] = task
	l.mu.Unlock()
	tasks.Go(func() {
		defer task.cancel()
		err := guard.Run(l.s.log, "downloads", func() error { return l.advance(ctx, task) })
		if ctx.Err() != nil {
			err = nil
		}
		l.noteFailure(row.RecordingID, err)
		if err != nil {
			l.s.log.Warn().Int64("recording_id", row.RecordingID).Str("account", task.row.Account).Err(err).Msg("download interrupted")
			if !once { // its row could not be saved: without a pause it would begin again at once
				pause.For(ctx, failedPause)
			}
		}
		l.mu.Lock()
		delete(l.tasks, row.RecordingID)
		l.wake() // with the lock: whoever finds the run idle finds this too
		l.mu.Unlock()
		close(task.done)
	})
}
