package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"minutebook/archive"
)

// Watcher imports the meetings of other programs that appear in a folder. It leaves the
// files where they are, and remembers in the archive which it has taken. Its
// methods must not be called at the same time.
type Watcher struct {
	archive *archive.Archive
	options Options
	dir     string
	lister  lister
	seen    map[string]sighting        // of the look before, by transcript or refused file
	refused map[string]string          // by file, the state that was refused
	open    map[string]archive.Failure // by file; nil: not read
}

// sighting is the state of a meeting's files at a look.
type sighting struct {
	state   string
	settled bool      // they were taken or refused in this state
	again   bool      // they were so in another one: the mark says nothing about this one
	rests   time.Time // the store did not take their recording: not before
}

// storeRest is how long a meeting rests whose recording the store did not take: each try
// reads all of it.
const storeRest = 15 * time.Minute

// FailureClass is the class of refused files, and of a watched folder that is away, in the
// ledger of failures.
const FailureClass = "import"

// NewWatcher returns the watcher of a folder. The options are those of its metadata-less
// meetings.
func NewWatcher(a *archive.Archive, o Options, dir string) *Watcher {
	return &Watcher{archive: a, options: newRun(a, o).Options, dir: dir, seen: map[string]sighting{}, refused: map[string]string{}}
}

// Look imports the meetings whose files are the same as at the look before, so that none
// is read while it is written. The result names the files that are refused for the
// first time; they are tried again when they change, or at each look where the system failed
// to read them. A folder that is not there is an error. Where no folder is watched ("") there
// are no failures. Looking at a folder in which nothing changed reads directories alone.
func (w *Watcher) Look(ctx context.Context) (Result, error) {
	var all Result
	if w.dir == "" {
		return all, w.closeGone(ctx, nil, nil)
	}
	others, wrong, err := w.lister.list(w.dir)
	if err == nil {
		err = refuseExport(w.dir)
	}
	if err != nil {
		return all, w.noteFolder(ctx, err)
	}
	if err := w.closeGone(ctx, others, wrong); err != nil {
		return all, err
	}
	w.options.store = &storeState{}
	seen := map[string]sighting{}
	for _, x := range wrong {
		now := w.sight(x.File, stateOf(x.File))
		if now.state == w.seen[x.File].state {
			if err := w.refuse(ctx, x, now.state, &all); err != nil {
				return all, err
			}
		}
		seen[x.File] = now
	}
	for _, f := range others {
		now := w.sight(f.transcript, w.lister.stateOf(f.files()))
		if now.state == w.seen[f.transcript].state && !now.settled && !now.isResting(w.archive.Now()) {
			w.options.store.failed = false
			if now.settled, err = w.take(ctx, f, now, &all); err != nil {
				return all, fmt.Errorf("import %s: %w", f.transcript, err)
			}
			if w.options.store.failed {
				now.rests = w.archive.Now().Add(storeRest)
			}
			w.seen[f.transcript] = now // also when the look fails later
		}
		seen[f.transcript] = now
	}
	w.seen = seen
	return all, nil
}

// sight compares the state of a meeting's files with that at the look before.
func (w *Watcher) sight(name, state string) sighting {
	before, known := w.seen[name]
	if known && before.state == state {
		return before
	}
	return sighting{state: state, again: before.again || before.settled}
}

// isResting reports whether files rest at now. Files that rest for longer than any do were
// dated by another clock.
func (s sighting) isResting(now time.Time) bool {
	left := s.rests.Sub(now)
	return 0 < left && left <= storeRest
}

// stateOf says how files were when they were listed.
func (l *lister) stateOf(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintln(&b, filepath.Base(path), l.files[path].stamp)
	}
	return b.String()
}

// stateOf says how files are at present, in the words of the listing.
func stateOf(paths ...string) string {
	l := lister{files: map[string]*listedFile{}}
	for _, path := range paths {
		s, _ := stampFile(path) // zero for a file that is gone
		l.files[path] = &listedFile{stamp: s}
	}
	return l.stateOf(paths)
}

// signatureOf says in few bytes how files are, as long as they are copied with their dates:
// "" when one is not there.
func signatureOf(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		s, err := stampFile(path)
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d %d\n", filepath.Base(path), s.size, s.modified)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))
}

// take imports a meeting unless its files were taken as they are, and reports whether it is
// done with this state of them.
func (w *Watcher) take(ctx context.Context, f foreign, now sighting, all *Result) (bool, error) {
	key, signature := w.markKey(f.transcript), signatureOf(f.files())
	if signature == "" {
		return false, nil // a file is gone
	}
	before, isSame, err := w.takenBefore(ctx, f.transcript)
	if err != nil {
		return false, err
	}
	im := newRun(w.archive, w.options)
	mark := func(t taken) (archive.Mark, error) {
		value, err := json.Marshal(t)
		return archive.Mark{Key: key, Value: value}, err
	}
	if before.Signature == signature && !now.again {
		if before.Words == 0 {
			if err := im.learn(ctx, f, before, mark); err != nil {
				return false, err
			}
		}
		return true, w.resolve(ctx, f, before.ID)
	}
	took, err := im.takeChanged(ctx, f, before.ID, isSame, func(t taken) (m archive.Mark, err error) {
		if stateOf(f.files()...) != now.state {
			return m, errChanging
		}
		return mark(t)
	})
	switch {
	case isGone(err) || errors.Is(err, errChanging):
		return false, nil
	case err != nil:
		return w.refuseMeeting(ctx, f, err, now.state, &im.result, all)
	}
	all.Add(im.result)
	if err := w.resolve(ctx, f, took.ID); err != nil || stateOf(f.files()...) != now.state {
		return false, err // a file that was changed meanwhile is read again
	}
	took.Signature = signature
	done, err := mark(took)
	if err != nil {
		return false, err
	}
	return true, w.archive.SetMarks(ctx, done)
}

// errChanging ends the import of files that are written while they are read.
var errChanging = errors.New("a file is changing")

// refuseMeeting records why a meeting was not taken, unless that is no error of its files,
// and reports whether it is done with their state. A recording that waits, and a file that
// the system fails to read, are tried again at the next look, and named once.
func (w *Watcher) refuseMeeting(ctx context.Context, f foreign, err error, state string, result, all *Result) (bool, error) {
	later, waits := errors.AsType[unstored](err)
	if waits {
		result.Unused = nil // is said when the recording is stored
	}
	if result.Changed > 0 { // else the meeting was taken at an earlier look
		all.Add(*result)
	}
	if waits {
		return false, w.refuse(ctx, later.Wrong, "later", all, f.transcript)
	}
	if wrong, ok := errors.AsType[Wrong](err); ok {
		return !mayPass(err), w.refuse(ctx, wrong, state, all, f.transcript)
	}
	return false, err
}

func (w *Watcher) relative(path string) string {
	if rel, err := filepath.Rel(w.dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// refuse records that a file is refused, once for each of its states: as one of the meeting that
// was taken from it before, whose title may be its name. Other are names under which its state is
// remembered.
func (w *Watcher) refuse(ctx context.Context, wrong Wrong, state string, all *Result, other ...string) error {
	names := append(other, wrong.File)
	failure := archive.Failure{Account: w.options.Account, Class: FailureClass, What: w.relative(wrong.File), Reason: wrong.reason()}
	if _, isOpen := w.open[failure.What]; isOpen && w.refused[names[0]] == state {
		return nil
	}
	before, _, err := w.takenBefore(ctx, names[0])
	if err != nil {
		return err
	}
	failure.RecordingID = before.ID
	if err := w.archive.RecordFailure(ctx, failure); err != nil {
		return err
	}
	for _, name := range names {
		w.refused[name] = state
	}
	w.open[failure.What] = failure
	all.Wrong = append(all.Wrong, wrong)
	return nil
}

// noteFolder records that the folder itself cannot be read, until it can be again: it has
// an absolute name in the ledger. It returns the error of the look.
func (w *Watcher) noteFolder(ctx context.Context, err error) error {
	wrong := unreadable(w.dir, err)
	err = fmt.Errorf("look into the watched folder: %w", wrong)
	failure := archive.Failure{Account: w.options.Account, Class: FailureClass, What: w.dir, Reason: wrong.reason()}
	if failed := w.readOpen(ctx); failed != nil {
		return errors.Join(err, failed)
	}
	if before, isOpen := w.open[failure.What]; isOpen && before.Reason == failure.Reason {
		return err
	}
	w.open[failure.What] = failure
	return errors.Join(err, w.archive.RecordFailure(ctx, failure))
}

// closeGone closes the failures of files and folders that are well, or gone, and of no
// meeting, whose taking would close them.
func (w *Watcher) closeGone(ctx context.Context, others []foreign, wrong []Wrong) error {
	if err := w.readOpen(ctx); err != nil || len(w.open) == 0 {
		return err
	}
	stays := map[string]bool{}
	for _, x := range wrong {
		stays[x.File] = true
	}
	for _, f := range others {
		for _, path := range append(f.files(), filepath.Dir(f.transcript)) {
			stays[path] = true
		}
	}
	for what := range w.open {
		path := filepath.Join(w.dir, filepath.FromSlash(what))
		if stays[path] {
			continue
		}
		if err := w.archive.ResolveFailure(ctx, w.options.Account, FailureClass, what); err != nil {
			return err
		}
		delete(w.open, what)
		delete(w.refused, path)
	}
	return nil
}

// readOpen reads the open failures, once.
func (w *Watcher) readOpen(ctx context.Context) error {
	if w.open != nil {
		return nil
	}
	failures, err := w.archive.Failures(ctx, true)
	if err != nil {
		return err
	}
	w.open = map[string]archive.Failure{}
	for _, f := range failures {
		if f.Class == FailureClass && f.Account == w.options.Account {
			w.open[f.What] = f
		}
	}
	return nil
}

// resolve closes the failures of files that were refused before. They are of the meeting
// from now on, so that they go when it is forgotten.
func (w *Watcher) resolve(ctx context.Context, f foreign, id int64) error {
	for _, path := range append(f.files(), filepath.Dir(f.transcript)) {
		failure, ok := w.open[w.relative(path)]
		if !ok {
			continue
		}
		failure.RecordingID = id
		if err := errors.Join(w.archive.RecordFailure(ctx, failure), w.archive.ResolveFailure(ctx, failure.Account, FailureClass, failure.What)); err != nil {
			return err
		}
		delete(w.open, failure.What)
		delete(w.refused, path)
	}
	return nil
}
