package search

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"golang.org/x/sync/errgroup"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// batch is a batch for each of the two indexes.
type batch struct{ meetings, moments *bleve.Batch }

// indexMeetings writes the current state of meetings into both indexes. Meetings that
// the archive no longer has, or cannot read, leave them. With each index's batch goes the
// state that advance makes of the one before.
func (x *Index) indexMeetings(ctx context.Context, g *generation, ids []int64, advance func(state) state) error {
	b, err := x.prepareBatch(ctx, g, ids)
	if err != nil {
		return err
	}
	return g.write(ctx, b, advance)
}

// prepareBatch reads meetings and makes their documents.
func (x *Index) prepareBatch(ctx context.Context, g *generation, ids []int64) (*batch, error) {
	b := &batch{g.meetings.index.NewBatch(), g.moments.index.NewBatch()}
	old, err := momentsOf(ctx, g.moments, ids)
	if err != nil {
		return nil, err
	}
	words := segment.NewVocabulary()
	meetings, moments := segment.NewBuilder(words), segment.NewBuilder(words)
	for _, id := range ids {
		s, err := readSource(ctx, x.archive, id)
		if isMissing(err) {
			b.meetings.Delete(strconv.FormatInt(id, 10))
			continue
		}
		if err != nil {
			return nil, err
		}
		tokens := make([][]text.Token, len(s.entries))
		for i, e := range s.entries {
			tokens[i] = words.Tokenize(e.Text)
		}
		addMeeting(meetings, s, tokens, x.langs)
		addMoments(moments, s, tokens, x.langs)
	}
	for _, id := range moments.IDs() {
		delete(old, id)
	}
	for name := range old {
		b.moments.Delete(name)
	}
	return b, errors.Join(meetings.AddTo(b.meetings), moments.AddTo(b.moments))
}

// write writes a batch, moments first, so that no meeting is found whose
// moments are older; while the indexes are built, both at once.
func (g *generation) write(ctx context.Context, b *batch, advance func(state) state) error {
	if g.isBuilt() {
		if err := g.moments.write(ctx, b.moments, advance(g.moments.lastState())); err != nil {
			return err
		}
		return g.meetings.write(ctx, b.meetings, advance(g.meetings.lastState()))
	}
	var both errgroup.Group
	both.Go(func() error { return g.moments.write(ctx, b.moments, advance(g.moments.lastState())) })
	both.Go(func() error { return g.meetings.write(ctx, b.meetings, advance(g.meetings.lastState())) })
	return both.Wait()
}

// momentsOf lists the names of the moments that the index has of meetings.
func momentsOf(ctx context.Context, s *store, ids []int64) (names map[string]bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer segment.RecoverDamage("read", s.path, &err)
	snap, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	names = map[string]bool{}
	for _, seg := range snap.Segments() {
		words := segment.NewTermReader(seg)
		for _, id := range ids {
			docs, err := words.Documents(segment.FieldKeys, keyMeeting+strconv.FormatInt(id, 10))
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
