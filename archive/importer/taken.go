package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"minutebook/archive"
	"minutebook/archive/captions"
)

// taken is the archive's record of an imported transcript.
type taken struct {
	ID        int64  `json:"id"`
	Signature string `json:"signature"`       // of its files; "": not as a whole
	Words     int64  `json:"words,omitempty"` // the id by its words; 0: an earlier version took it
}

// takenBefore returns the mark of a transcript, or else the meeting of one with its name in
// another format; isSame says that it is the same talk: a forgotten meeting has no words to
// compare.
func (w *Watcher) takenBefore(ctx context.Context, transcript string) (before taken, isSame bool, err error) {
	if before, err = w.readMark(ctx, transcript); err != nil || before.ID != 0 {
		return before, false, err
	}
	name := strings.TrimSuffix(transcript, filepath.Ext(transcript))
	for _, ext := range captions.Extensions() {
		before, err := w.readMark(ctx, name+ext)
		if err != nil {
			return taken{}, false, err
		} else if before.ID == 0 {
			continue
		}
		_, err = w.archive.Row(ctx, before.ID)
		if isSame = errors.Is(err, archive.ErrForgotten); isSame || errors.Is(err, archive.ErrNotFound) {
			err = nil
		}
		return taken{ID: before.ID}, isSame, err
	}
	return before, false, nil
}

// readMark returns the mark of a transcript: zero without one.
func (w *Watcher) readMark(ctx context.Context, path string) (t taken, err error) {
	key := w.markKey(path)
	mark, err := w.archive.Mark(ctx, key)
	if err != nil || mark == nil {
		return t, err
	}
	if err := json.Unmarshal(mark, &t); err != nil {
		return t, fmt.Errorf("read mark %s: %w", key, err)
	}
	return t, nil
}

// markKey is the mark of a transcript. It has no file's name, which can be a meeting's
// title and would outlive the meeting.
func (w *Watcher) markKey(path string) string {
	return fmt.Sprintf("watched/%x", sha256.Sum256([]byte(w.relative(path))))
}

// takeChanged imports a meeting whose transcript may be a corrected one, or the whole of
// one that was read before its writing had ended: then it is the same meeting as before.
// The mark of its state is set with it.
func (im *run) takeChanged(ctx context.Context, f foreign, before int64, isSame bool, mark func(taken) (archive.Mark, error)) (now taken, err error) {
	m, err := readForeign(f)
	if err != nil {
		return now, err
	}
	row, err := im.identify(ctx, &m, before, isSame)
	if err != nil {
		return now, err
	}
	now = taken{ID: m.RecordingID, Words: m.words}
	set, err := mark(now)
	if err != nil {
		return now, err
	}
	im.marks = append(im.marks, set)
	return now, im.addForeign(ctx, m, row)
}

// learn marks the words and the key of files that an earlier version took, which did not
// mark them. Files that cannot be read are left for later.
func (im *run) learn(ctx context.Context, f foreign, before taken, mark func(taken) (archive.Mark, error)) error {
	m, err := readForeign(f)
	if _, wrong := errors.AsType[Wrong](err); wrong {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := im.identify(ctx, &m, before.ID, true); err != nil {
		return err
	}
	before.Words = m.words
	set, err := mark(before)
	if err != nil {
		return err
	}
	return im.archive.SetMarks(ctx, append(im.marks, set)...)
}
