package importer

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"minutebook/archive"
)

// identified is a meeting that an id names.
type identified struct {
	id        int64        // its own
	row       *archive.Row // nil: it is not there
	forgotten bool
	hasKey    bool
}

func (i identified) isKnown() bool { return i.row != nil || i.forgotten }

// find returns the meeting that an id names, which may be none that is known.
func (im *run) find(ctx context.Context, id int64) (i identified, err error) {
	if i.id, _, err = im.archive.ImportedID(ctx, id); err != nil {
		return i, err
	}
	if _, i.hasKey, err = im.archive.ImportedID(ctx, i.id); err != nil {
		return i, err
	}
	i.row, err = im.archive.Row(ctx, i.id)
	if i.forgotten = errors.Is(err, archive.ErrForgotten); i.forgotten || errors.Is(err, archive.ErrNotFound) {
		err = nil
	}
	return i, err
}

// findAny returns the meeting that the first known of some ids names, else that of the first id, and
// the ids that name none that is known.
func (im *run) findAny(ctx context.Context, ids []int64) (is identified, unknown []int64, err error) {
	for i, id := range ids {
		found, err := im.find(ctx, id)
		if err != nil {
			return is, nil, err
		}
		if !found.isKnown() {
			unknown = append(unknown, id)
		}
		if i == 0 || found.isKnown() && !is.isKnown() {
			is = found
		}
	}
	return is, unknown, nil
}

func sameMark(id, same int64) archive.Mark {
	return archive.Mark{Key: archive.ImportedAs + strconv.FormatInt(id, 10), Value: strconv.AppendInt(nil, same, 10)}
}

// identify decides which meeting the files are: that of their key, else that of their words, in
// any format, unless it has another key, else the one that the transcript was before (0: not
// known) where it is the same talk, which the caller may know (isSame), else a new one. It
// returns the meeting's row, nil where the archive has none, and adds to the marks of the run.
func (im *run) identify(ctx context.Context, m *foreignMeeting, before int64, isSame bool) (*archive.Row, error) {
	words, unknown, err := im.findAny(ctx, append([]int64{m.words}, m.otherWords...))
	if err != nil {
		return nil, err
	}
	is := words
	if m.key != 0 {
		if is, err = im.find(ctx, m.key); err != nil {
			return nil, err
		}
		if !is.isKnown() && (words.forgotten || words.row != nil && !words.hasKey) {
			is = words
		}
	}
	if !is.isKnown() && before != 0 {
		was, err := im.find(ctx, before)
		if err != nil {
			return nil, err
		}
		same := false
		if m.key == 0 || !was.hasKey {
			if same = isSame; !same && was.row != nil {
				same, err = im.isSameTalk(ctx, was.id, m)
			}
		}
		if err != nil {
			return nil, err
		}
		if same {
			is = was
		}
	}
	m.RecordingID = is.id
	im.markSame(is.id, unknown)
	if m.key != 0 && !is.forgotten && !is.hasKey {
		im.marks = append(im.marks, sameMark(m.key, is.id), sameMark(is.id, is.id))
	}
	return is.row, nil
}

// markSame adds the marks by which other ids name a meeting.
func (im *run) markSame(id int64, others []int64) {
	for _, other := range others {
		if other != id {
			im.marks = append(im.marks, sameMark(other, id))
		}
	}
}

// isSameTalk reports whether the new content goes on after that of a meeting that was
// imported before, or at least half of the different sentences of each are in the other: a
// talk that has begun has its few in many others.
func (im *run) isSameTalk(ctx context.Context, id int64, m *foreignMeeting) (bool, error) {
	entries, err := im.archive.Entries(ctx, id, 0, -1)
	if err != nil {
		return false, err
	}
	had, said := map[string]bool{}, map[string]bool{}
	var before, now strings.Builder
	for _, e := range entries {
		had[e.Text] = true
		before.WriteString(e.Text + " ")
	}
	common := 0
	for _, u := range m.talk.Utterances() {
		if had[u.Text] && !said[u.Text] {
			common++
		}
		said[u.Text] = true
		now.WriteString(u.Text + " ")
	}
	// The last utterance of a file that is written goes on, in the middle of a word even.
	goesOn := len(entries) > 0 && strings.HasPrefix(now.String(), strings.TrimSpace(before.String()))
	return goesOn || common > 0 && 2*common >= max(len(had), len(said)), nil
}
