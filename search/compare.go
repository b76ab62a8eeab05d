package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"minutebook/archive"
	"minutebook/search/segment"
)

// compareChunk is how many meetings are compared at a time, and maxNamedDifferences how
// many of each kind are named.
const (
	compareChunk        = 500
	maxNamedDifferences = 100
)

// Compare compares the meetings of the index with those of the archive: absent are
// those that the archive alone has, extra those that the index alone has, at most a
// hundred of each. When there are any, the next [Index.CatchUp] builds the index anew.
// Meetings that arrive meanwhile are followed first and then compared again.
func (x *Index) Compare(ctx context.Context) (absent, extra []int64, err error) {
	for try := 0; ; try++ {
		before := x.position()
		if absent, extra, err = x.compare(ctx); err != nil || len(absent)+len(extra) == 0 {
			return nil, nil, err
		}
		if err := x.CatchUp(ctx); err != nil {
			return nil, nil, err
		}
		if x.position() == before || try == 5 {
			break
		}
	}
	x.requestRebuild(fmt.Errorf("%d meetings are missing and %d too many", len(absent), len(extra)))
	return absent, extra, nil
}

func (x *Index) compare(ctx context.Context) (absent, extra []int64, err error) {
	x.mu.RLock()
	g, closed := x.serving, x.closed
	x.mu.RUnlock()
	if closed {
		return nil, nil, ErrClosed
	}
	done, ok := g.use()
	if !ok {
		return nil, nil, nil
	}
	defer done()
	if !g.isBuilt() {
		return nil, nil, nil
	}
	defer segment.RecoverDamage("compare", g.meetings.path, &err)
	snap, err := g.meetings.snapshot()
	if err != nil {
		return nil, nil, err
	}
	defer snap.Close()
	if absent, err = x.findMissing(ctx, snap); err != nil {
		return nil, nil, err
	}
	extra, err = x.findExtra(ctx, snap)
	return absent, extra, err
}

// findMissing walks the archive and looks each meeting up in the index, which has none of those
// that cannot be read until a repair.
func (x *Index) findMissing(ctx context.Context, snap *scorch.IndexSnapshot) (ids []int64, err error) {
	q := archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Limit: compareChunk}
	for len(ids) < maxNamedDifferences {
		rows, err := x.archive.List(ctx, q)
		if err != nil || len(rows) == 0 {
			return ids, err
		}
		names := make([]string, len(rows))
		for i, r := range rows {
			names[i] = strconv.FormatInt(r.RecordingID, 10)
		}
		slices.Sort(names)
		indexed := map[int64]bool{}
		reader, err := snap.DocIDReaderOnly(names)
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if err := eachMeeting(ctx, snap, reader, func(id int64) error { indexed[id] = true; return nil }); err != nil {
			return nil, err
		}
		for _, r := range rows {
			if indexed[r.RecordingID] || len(ids) == maxNamedDifferences {
				continue
			}
			_, err := readSource(ctx, x.archive, r.RecordingID)
			if isMissing(err) { // the index has none of these either
				continue
			} else if err != nil {
				return nil, err
			}
			ids = append(ids, r.RecordingID)
		}
		key := rows[len(rows)-1].Key()
		q.Cursor = &key
	}
	return ids, nil
}

// findExtra walks the index and looks its meetings up in the archive.
func (x *Index) findExtra(ctx context.Context, snap *scorch.IndexSnapshot) (ids []int64, err error) {
	reader, err := snap.DocIDReaderAll()
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	var chunk []int64
	look := func() error {
		rows, err := x.archive.Rows(ctx, chunk)
		for _, id := range chunk {
			if rows[id] == nil && len(ids) < maxNamedDifferences {
				ids = append(ids, id)
			}
		}
		chunk = chunk[:0]
		return err
	}
	err = eachMeeting(ctx, snap, reader, func(id int64) error {
		if chunk = append(chunk, id); len(chunk) < compareChunk {
			return nil
		}
		return look()
	})
	if err == nil && len(chunk) > 0 {
		err = look()
	}
	return ids, err
}

// eachMeeting reads the recording_ids of documents and closes their reader.
func eachMeeting(ctx context.Context, snap *scorch.IndexSnapshot, reader index.DocIDReader, fn func(int64) error) error {
	defer reader.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		doc, err := reader.Next()
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		if doc == nil {
			return nil
		}
		name, err := snap.ExternalID(doc)
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: it has a document %.40q", errUnsound, name)
		}
		if err := fn(id); err != nil {
			return err
		}
	}
}
