package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/archive"
)

// Watcher imports the meetings of other programs that appear in a folder. It leaves the
// files where they are, and remembers in the archive which it has taken.
type Watcher struct {
	archive *archive.Archive
	options Options
	dir     string
	seen    map[string]string // by transcript, the signature of its files at the look before
	refused map[string]string // by file, the signature that was refused
}

// failureClass is the class of refused files in the ledger of failures.
const failureClass = "import"

// NewWatcher returns the watcher of a folder. The options are those of its metadata-less
// meetings.
func NewWatcher(a *archive.Archive, o Options, dir string) *Watcher {
	return &Watcher{archive: a, options: newRun(a, o).Options, dir: dir, seen: map[string]string{}, refused: map[string]string{}}
}

// taken is the archive's record of an imported transcript.
type taken struct {
	ID        int64  `json:"id"`
	Signature string `json:"signature"` // of its files
}

// Look imports the meetings whose files are the same as at the look before, so that none
// is read while it is written. The result names the files that are refused for the
// first time; they are tried again when they change. A folder that is not there is an
// error.
func (w *Watcher) Look(ctx context.Context) (Result, error) {
	var all Result
	others, wrong, err := listForeign(w.dir)
	if err != nil {
		return all, fmt.Errorf("look into %s: %w", w.dir, err)
	}
	seen := map[string]string{}
	for _, x := range wrong {
		signature := signatureOf([]string{x.File})
		if seen[x.File] = signature; w.seen[x.File] == signature {
			if err := w.refuse(ctx, x, signature, &all); err != nil {
				return all, err
			}
		}
	}
	for _, f := range others {
		signature := signatureOf(f.files())
		if seen[f.transcript] = signature; signature == "" || w.seen[f.transcript] != signature {
			continue // it is new, or still written
		}
		if err := w.take(ctx, f, signature, &all); err != nil {
			return all, fmt.Errorf("import %s: %w", f.transcript, err)
		}
	}
	w.seen = seen
	return all, nil
}

// signatureOf says how files are: "" when one is not there.
func signatureOf(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d %d\n", filepath.Base(path), info.Size(), info.ModTime().UnixNano())
		if !isReadable(path) {
			b.WriteString("unreadable\n")
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))
}

// isReadable reports whether a file can be opened: the right to read it is given without a
// change of the file.
func isReadable(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// take imports a meeting unless its files were taken or refused as they are.
func (w *Watcher) take(ctx context.Context, f foreign, signature string, all *Result) error {
	if w.refused[f.transcript] == signature {
		return nil
	}
	key := w.markKey(f.transcript)
	var before taken
	if mark, err := w.archive.Mark(ctx, key); err != nil {
		return err
	} else if mark != nil {
		if err := json.Unmarshal(mark, &before); err != nil {
			return fmt.Errorf("read mark %s: %w", key, err)
		}
	}
	if before.Signature == signature {
		return nil
	}
	im := newRun(w.archive, w.options)
	id, err := im.takeChanged(ctx, f, before.ID)
	var wrong Wrong
	var later unstored
	switch {
	case isGone(err):
		return nil
	case errors.As(err, &later): // it is tried again at the next look, and named once
		all.Add(im.result)
		return w.refuse(ctx, later.Wrong, "later", all, f.transcript)
	case errors.As(err, &wrong):
		return w.refuse(ctx, wrong, signature, all, f.transcript)
	case err != nil:
		return err
	}
	all.Add(im.result)
	if err := w.resolve(ctx, f, id); err != nil || signatureOf(f.files()) != signature {
		return err // a file that was changed meanwhile is read again
	}
	value, err := json.Marshal(taken{id, signature})
	if err != nil {
		return err
	}
	return w.archive.SetMarks(ctx, archive.Mark{Key: key, Value: value})
}

// markKey is the mark of a transcript. It has no file's name, which can be a meeting's
// title and would outlive the meeting.
func (w *Watcher) markKey(path string) string {
	return fmt.Sprintf("watched/%x", sha256.Sum256([]byte(w.relative(path))))
}

func (w *Watcher) relative(path string) string {
	if rel, err := filepath.Rel(w.dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// refuse records that a file is refused, once for each of its states. Other are names
// under which its state is remembered.
func (w *Watcher) refuse(ctx context.Context, wrong Wrong, signature string, all *Result, other ...string) error {
	names := append(other, wrong.File)
	if w.refused[names[0]] == signature {
		return nil
	}
	err := w.archive.RecordFailure(ctx, archive.Failure{Account: w.options.Account, Class: failureClass, What: w.relative(wrong.File),
		Reason: strings.TrimPrefix(wrong.Error(), wrong.File+": ")})
	if err != nil {
		return err
	}
	for _, name := range names {
		w.refused[name] = signature
	}
	all.Wrong = append(all.Wrong, wrong)
	return nil
}

// resolve closes the failures of files that were refused before. They are of the meeting
// from now on, so that they go when it is forgotten.
func (w *Watcher) resolve(ctx context.Context, f foreign, id int64) error {
	open, err := w.archive.Failures(ctx, true)
	if err != nil {
		return err
	}
	files := f.files()
	for _, failure := range open {
		path := filepath.Join(w.dir, filepath.FromSlash(failure.What))
		if failure.Class != failureClass || failure.Account != w.options.Account ||
			!slices.Contains(files, path) && path != filepath.Dir(f.transcript) {
			continue
		}
		failure.RecordingID = id
		if err := errors.Join(w.archive.RecordFailure(ctx, failure), w.archive.ResolveFailure(ctx, failure.Account, failureClass, failure.What)); err != nil {
			return err
		}
	}
	return nil
}

// takeChanged imports a meeting whose transcript may be a corrected one, or the whole of
// one that was read before its writing had ended: then it is the same meeting as before.
func (im *run) takeChanged(ctx context.Context, f foreign, before int64) (int64, error) {
	m, err := im.readForeign(f)
	if err != nil {
		return 0, err
	}
	if before != 0 && before != m.RecordingID && !m.hasKey {
		same, err := im.isSameTalk(ctx, before, m)
		if err != nil {
			return 0, err
		}
		if same {
			m.RecordingID = before
		}
	}
	return m.RecordingID, im.addForeign(ctx, m)
}

// isSameTalk reports whether a meeting that was imported before has at least half of its
// utterances in common with the new content.
func (im *run) isSameTalk(ctx context.Context, id int64, m foreignMeeting) (bool, error) {
	entries, err := im.archive.Entries(ctx, id, 0, -1)
	if err != nil {
		return false, err
	}
	said := map[string]bool{}
	for _, e := range m.Transcript.Or(nil) {
		said[e.Text] = true
	}
	common := 0
	for _, e := range entries {
		if said[e.Text] {
			common++
		}
	}
	return common > 0 && 2*common >= min(len(entries), len(said)), nil
}
