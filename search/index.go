package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/search/text"
)

// Options of Open.
type Options struct {
	Archive *archive.Archive // required
	Dir     string           // where the index lives; "" means index/ in the archive's directory
	Logger  zerolog.Logger
	Now     func() time.Time // nil means time.Now
	// Busy reports that something else needs the machine more: indexing then goes
	// on in smaller steps, with pauses. Nil means never.
	Busy func() bool
}

// Index answers searches over an archive. Its methods may be called
// concurrently.
type Index struct {
	archive   *archive.Archive
	dir       string
	log       zerolog.Logger
	now       func() time.Time
	busy      func() bool
	langs     *text.Languages
	columns   *columnCache
	tuning    tuning
	workers   int // goroutines that one search may use
	room      func(dir string) (free int64, err error)
	roomPause time.Duration // between looks at the room

	work chan struct{} // has room for the one goroutine that writes

	mu            sync.RWMutex // guards all below
	serving       *generation  // answers; never nil while open
	next          *generation  // being built beside serving; nil when there is none
	meetingCount  int          // in the archive, as last counted
	rebuildWanted bool         // the serving indexes are to be built anew
	reason        string       // why next is being built, or is to be
	damaged       bool         // damage of the serving indexes was met
	postponed     bool         // the rebuild that is wanted waits for room on the disk
	retryAt       time.Time    // when it is tried again
	wake          func()       // ends the wait of Follow for a change
	closed        bool
}

// ErrClosed is returned by the methods of a closed Index.
var ErrClosed = errors.New("the search index is closed")

// Open opens the index of an archive, or makes an empty one where there is
// none, or none that is of use: indexes that do not open are removed, and built anew
// by CatchUp and Follow. It fails when the index is open in another process, when
// the archive cannot be read, or when the disk does not let it write.
func Open(ctx context.Context, o Options) (*Index, error) {
	x := &Index{archive: o.Archive, dir: o.Dir, log: o.Logger, now: o.Now, busy: o.Busy, langs: text.NewLanguages(), columns: newColumnCache(), tuning: defaultTuning(), workers: runtime.GOMAXPROCS(0), room: readRoom, roomPause: roomPause, work: make(chan struct{}, 1), wake: func() {}}
	if x.dir == "" {
		x.dir = filepath.Join(o.Archive.Dir(), "index")
	}
	if x.now == nil {
		x.now = time.Now
	}
	if x.busy == nil {
		x.busy = func() bool { return false }
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return nil, fmt.Errorf("open search index: %w", err)
	}
	if err := x.openGenerations(ctx); err != nil {
		return nil, err
	}
	x.countMeetings(ctx)
	o.Archive.OnForget("the search index", x.forget)
	return x, nil
}

// openGenerations opens the newest generation that is built and has followed the change log as
// far as any, and the newer one that was being built when the program ended, and removes all others.
func (x *Index) openGenerations(ctx context.Context) error {
	names, err := listGenerations(x.dir)
	if err != nil {
		return err
	}
	newest := 0
	for _, n := range names {
		newest = max(newest, n.number)
		if err := x.takeGeneration(n); err != nil {
			return errors.Join(err, x.closeGenerations())
		}
	}
	if x.next == nil && (x.serving == nil || !x.serving.isCurrent()) {
		head, err := x.archive.Head(ctx)
		if err != nil {
			return fmt.Errorf("open search index: %w", err)
		}
		if x.next, err = createGeneration(x.dir, newest+1, head); err != nil {
			return err
		}
		switch {
		case x.serving != nil:
			x.reason = fmt.Sprintf("it has format %d, and this program writes %d", x.serving.format, format)
		case x.reason == "":
			x.reason = "there was none"
		}
	}
	if x.serving == nil {
		x.serving = x.next
	}
	if err := x.readRequest(); err != nil {
		return fmt.Errorf("open search index: %w", err)
	}
	if x.next == nil {
		if !x.rebuildWanted {
			x.reason = ""
		}
		return nil
	}
	x.log.Info().Str("reason", x.reason).Stringer("generation", x.next).Msg("the search index will be built")
	return nil
}

// takeGeneration opens a generation and keeps it where it can serve or be built further;
// others are removed. It fails only when another process has the generation open.
func (x *Index) takeGeneration(n generationName) error {
	g, err := openGeneration(x.dir, n)
	switch {
	case errors.Is(err, errLocked):
		return err
	case err != nil:
		x.reason = err.Error()
		x.log.Warn().Err(err).Stringer("generation", n).Msg("remove a search index that does not open")
		if err := os.RemoveAll(filepath.Join(x.dir, n.String())); err != nil {
			x.log.Warn().Err(err).Msg("remove a damaged search index")
		}
	case x.serving == nil && g.isBuilt():
		x.serving = g
	case x.serving == nil && x.next == nil && g.isCurrent():
		x.next, x.reason = g, fmt.Sprintf("its building was interrupted after %d meetings", g.buildState().Walked)
	case x.serving != nil && x.next == nil && x.serving.isCurrent() && g.isBuilt() && g.isAhead(x.serving):
		x.serving, x.next, x.reason = g, x.serving, "its building was interrupted before it had followed the change log"
	default:
		if err := g.remove(); err != nil {
			x.log.Warn().Err(err).Msg("remove an old search index")
		}
	}
	return nil
}

// countMeetings reads how many meetings the archive has, for Progress.
func (x *Index) countMeetings(ctx context.Context) {
	n, err := x.archive.Size(ctx)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.meetingCount = n
}

// Progress says how far the index that answers is.
func (x *Index) Progress() Progress {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p := Progress{Total: x.meetingCount, Rebuilding: x.next != nil || x.rebuildWanted, Reason: x.reason, Damaged: x.damaged}
	if x.closed {
		return p
	}
	done, ok := x.serving.use()
	if !ok {
		return p
	}
	defer done()
	if n, err := x.serving.meetings.index.DocCount(); err == nil {
		p.Indexed = int(n)
	}
	p.Total = max(p.Total, p.Indexed)
	p.Position = x.serving.position()
	return p
}

// Rebuild has Follow, or the next CatchUp, build the indexes anew, while the ones that
// are there answer.
func (x *Index) Rebuild() { x.requestRebuild(errors.New("it was asked for")) }

// Close waits for searches and for the batch that is being written, and closes
// the indexes.
func (x *Index) Close() error {
	if err := x.lockWork(context.Background(), "close the search index"); err != nil {
		return err
	}
	defer x.unlockWork()
	x.mu.Lock()
	wasClosed := x.closed
	x.closed = true
	x.mu.Unlock() // a search may ask for the progress before it ends
	if wasClosed {
		return nil
	}
	return x.closeGenerations()
}

func (x *Index) closeGenerations() error {
	var errs []error
	for _, g := range []*generation{x.serving, x.next} {
		if g != nil {
			errs = append(errs, g.close())
		}
	}
	return errors.Join(errs...)
}
