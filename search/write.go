package search

import (
	"context"
	"fmt"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"golang.org/x/sync/errgroup"
)

// put writes the current state of meetings into both indexes, moments first,
// so that no meeting is found whose moments are older; while they are built,
// both at once. What is no longer in
// the archive leaves them. With each batch goes the state that advance makes
// of the one before.
func (x *Index) put(ctx context.Context, g *generation, ids []int64, advance func(state) state) error {
	meetings, moments := g.meetings.index.NewBatch(), g.moments.index.NewBatch()
	old, err := momentsOf(ctx, g.moments, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := readSource(ctx, x.archive, id)
		gone := isMissing(err)
		if err != nil && !gone {
			return err
		}
		if gone {
			meetings.Delete(strconv.FormatInt(id, 10))
		} else if err := addMeeting(meetings, moments, s, x.langs, old); err != nil {
			return err
		}
	}
	for name := range old {
		moments.Delete(name)
	}
	if g.built() {
		if err := g.moments.write(moments, advance(g.moments.at())); err != nil {
			return err
		}
		return g.meetings.write(meetings, advance(g.meetings.at()))
	}
	var both errgroup.Group
	both.Go(func() error { return g.moments.write(moments, advance(g.moments.at())) })
	both.Go(func() error { return g.meetings.write(meetings, advance(g.meetings.at())) })
	return both.Wait()
}

// addMeeting adds a meeting's documents to the batches and takes the moments
// it has from old.
func addMeeting(meetings, moments *bleve.Batch, s *source, langs *languages, old map[string]bool) error {
	if err := meetings.IndexAdvanced(meetingDocument(s, langs)); err != nil {
		return fmt.Errorf("index meeting %d: %w", s.row.RecordingID, err)
	}
	for _, d := range momentDocuments(s, langs) {
		if err := moments.IndexAdvanced(d); err != nil {
			return fmt.Errorf("index moments of %d: %w", s.row.RecordingID, err)
		}
		delete(old, d.ID())
	}
	return nil
}

// momentsOf lists the names of the moments that the index has of meetings.
func momentsOf(ctx context.Context, s *store, ids []int64) (names map[string]bool, err error) {
	defer recovered("read", s.path, &err)
	snap, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	names = map[string]bool{}
	for _, seg := range snap.Segments() {
		for _, id := range ids {
			docs, err := postings(seg, fieldKeys, keyMeeting+strconv.FormatInt(id, 10))
			if err != nil {
				return nil, err
			}
			for it := docs.Iterator(); it.HasNext(); {
				name, err := seg.DocID(uint64(it.Next()))
				if err != nil {
					return nil, fmt.Errorf("read search index: %w", err)
				}
				names[string(name)] = true
			}
		}
	}
	return names, ctx.Err()
}
