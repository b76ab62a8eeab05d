package search

import (
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// postings is the set of a segment's living documents that have a term.
func postings(seg *scorch.SegmentSnapshot, field, term string) (*roaring.Bitmap, error) {
	list, err := postingsList(seg, field, term)
	if err != nil {
		return nil, err
	}
	return documents(list)
}

func postingsList(seg *scorch.SegmentSnapshot, field, term string) (segment.PostingsList, error) {
	dict, err := seg.Segment().Dictionary(field)
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	list, err := dict.PostingsList([]byte(term), seg.Deleted(), nil)
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	return list, nil
}

// addPostings adds a segment's living documents that have a term to a set.
func addPostings(docs *roaring.Bitmap, seg *scorch.SegmentSnapshot, field, term string) error {
	list, err := postingsList(seg, field, term)
	if err != nil || list.Count() == 0 {
		return err
	}
	it := list.Iterator(false, false, false, nil)
	if o, ok := it.(segment.OptimizablePostingsIterator); ok {
		if bm := o.ActualBitmap(); bm != nil {
			docs.Or(bm)
			return nil
		}
	}
	more, err := documents(list)
	if err != nil {
		return err
	}
	docs.Or(more)
	return nil
}

// countPostings is how many of a segment's living documents have a term.
func countPostings(seg *scorch.SegmentSnapshot, field, term string) (int, error) {
	list, err := postingsList(seg, field, term)
	if err != nil {
		return 0, err
	}
	return int(list.Count()), nil
}

// documents is the set of documents in a postings list. The caller may change
// it.
func documents(list segment.PostingsList) (*roaring.Bitmap, error) {
	if list.Count() == 0 {
		return roaring.New(), nil
	}
	it := list.Iterator(false, false, false, nil)
	if o, ok := it.(segment.OptimizablePostingsIterator); ok {
		if one, ok := o.DocNum1Hit(); ok {
			return roaring.BitmapOf(uint32(one)), nil
		}
		if bm := o.ActualBitmap(); bm != nil {
			return bm.Clone(), nil
		}
	}
	docs := roaring.New()
	for {
		p, err := it.Next()
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if p == nil {
			return docs, nil
		}
		docs.Add(uint32(p.Number()))
	}
}
