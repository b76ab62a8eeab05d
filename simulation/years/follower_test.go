package years

import (
	"context"
	"errors"
	"maps"

	"minutebook/archive"
)

// follower is a copy of the archive that is kept by its change log alone: the content of each
// meeting, as of a position.
type follower struct {
	at      archive.Position
	content map[int64]map[string]string
}

// follow reads again all meetings that the log names after the position. A log of another epoch
// begins the copy anew.
func (w *world) follow() {
	ctx, f, ar := context.Background(), &w.copy, w.house.archive
	for {
		list, err := ar.Changes(ctx, f.at, 500)
		if errors.Is(err, archive.ErrForeignEpoch) {
			*f = follower{}
			continue
		}
		w.must(err, "read changes")
		if f.content == nil {
			f.content = map[int64]map[string]string{}
		}
		changed := map[int64]bool{}
		for _, c := range list {
			changed[c.RecordingID] = c.RecordingID != 0 // 0: who may see all meetings, which is no content
			f.at.Seq = c.Seq
		}
		for id, one := range changed {
			if !one {
				continue
			}
			delete(f.content, id)
			row, err := ar.Row(ctx, id)
			if errors.Is(err, archive.ErrForgotten) {
				continue
			}
			w.must(err, "read a changed meeting")
			if content := w.contentOf(ar, row); content != nil {
				f.content[id] = content
			}
		}
		if len(list) == 0 {
			break
		}
		head, err := ar.Head(ctx)
		w.must(err, "read the head")
		f.at.Epoch = head.Epoch
	}
}

// checkFollower compares the copy with one that is built anew.
func (w *world) checkFollower() {
	w.follow()
	all := w.content(w.house.archive)
	for id, want := range all {
		if !maps.Equal(w.copy.content[id], want) {
			w.fail("by the change log meeting %d has %v, in the archive %v", id, w.copy.content[id], want)
		}
	}
	if len(all) != len(w.copy.content) {
		w.fail("by the change log there are %d meetings, in the archive %d", len(w.copy.content), len(all))
	}
}
