package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Counting is where a search spends its time: a common word is in most meetings,
// in several forms and fields, and Bleve reads each of its counts through three
// interfaces. Segments on disk are read here directly, in the format that
// writer_postings.go writes; those still in memory, which are small, through Bleve.

// TermReader finds the terms of one segment. Only one goroutine at a time may use it.
type TermReader struct {
	seg     segmentapi.Segment
	deleted *roaring.Bitmap        // deleted documents; nil: none
	file    *zap.Segment           // nil: in memory
	dicts   map[string]*vellum.FST // on disk, by field
	counted roaring.Bitmap         // of the term whose documents are counted, to use its memory again
}

// NewTermReader returns the reader of a segment.
func NewTermReader(seg *scorch.SegmentSnapshot) *TermReader {
	return newTermReader(seg.Segment(), seg.Deleted())
}

func newTermReader(seg segmentapi.Segment, gone *roaring.Bitmap) *TermReader {
	l := &TermReader{seg: seg, deleted: gone, dicts: map[string]*vellum.FST{}}
	if disk, ok := seg.(*zap.Segment); ok && disk.ChunkMode() == zap.DefaultChunkMode && disk.Version() == Version {
		l.file = disk
	}
	return l
}

// Documents returns the living documents that have a term. The caller may change the
// set.
func (r *TermReader) Documents(field, term string) (*roaring.Bitmap, error) {
	c, err := r.Postings(field, term)
	if err != nil || c.Docs == nil {
		return roaring.New(), err
	}
	if r.deleted != nil {
		c.Docs.AndNot(r.deleted)
	}
	return c.Docs, nil
}

// Count returns how many living documents have a term.
func (r *TermReader) Count(field, term string) (int, error) {
	c, err := r.Postings(field, term)
	if err != nil || c.Docs == nil {
		return 0, err
	}
	n := c.Docs.GetCardinality()
	if r.deleted != nil {
		n -= c.Docs.AndCardinality(r.deleted)
	}
	return int(n), nil
}

// CountIn returns how many of the given documents have a term.
func (r *TermReader) CountIn(field, term string, given *roaring.Bitmap) (int, error) {
	c, err := r.Postings(field, term)
	if err != nil || c.Docs == nil {
		return 0, err
	}
	return int(c.Docs.AndCardinality(given)), nil
}

// Postings returns the documents that have a term in a field, deleted ones too.
func (r *TermReader) Postings(field, term string) (Postings, error) {
	if r.file == nil {
		return r.readThroughBleve(field, term)
	}
	dict, err := r.dictionary(field)
	if dict == nil || err != nil {
		return Postings{}, err
	}
	at, ok, err := dict.Get([]byte(term))
	if err != nil {
		return Postings{}, fmt.Errorf("%w: %w", errPostings, err)
	}
	if !ok {
		return Postings{}, nil
	}
	return r.postingsAt(at)
}

// postingsAt returns the postings at a place that the dictionary gives.
func (r *TermReader) postingsAt(at uint64) (Postings, error) {
	if at&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
		doc, length := zap.FSTValDecode1Hit(at)
		if doc >= r.file.NumDocs() {
			return Postings{}, errPostings
		}
		return Postings{Docs: roaring.BitmapOf(uint32(doc)), inMemory: []termCount{{1, uint32(length)}}}, nil
	}
	return r.readPostings(at)
}

// dictionary returns the dictionary of a field on disk, nil where there is none.
func (r *TermReader) dictionary(field string) (*vellum.FST, error) {
	if d, ok := r.dicts[field]; ok {
		return d, nil
	}
	at, err := r.file.DictAddr(field)
	if err != nil { // the field is not in the segment
		r.dicts[field] = nil
		return nil, nil
	}
	size, rest, err := uvarint(r.file.Data()[at:])
	if err != nil {
		return nil, err
	}
	d, err := vellum.Load(rest[:size])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPostings, err)
	}
	r.dicts[field] = d
	return d, nil
}

// readPostings reads a term's documents and where their counts are.
func (r *TermReader) readPostings(at uint64) (c Postings, err error) {
	data := r.file.Data()
	rest := data[at:]
	var head [3]uint64 // where the counts are, where the places are, bytes of documents
	for i := range head {
		if head[i], rest, err = uvarint(rest); err != nil {
			return c, err
		}
	}
	c.Docs = roaring.New()
	if _, err := c.Docs.FromBuffer(rest[:head[2]]); err != nil {
		return c, fmt.Errorf("%w: %w", errPostings, err)
	}
	all, some := r.file.NumDocs(), c.Docs.GetCardinality()
	if some == 0 || some > all || uint64(c.Docs.Maximum()) >= all {
		return c, errPostings
	}
	if c.chunkDocs = all / (some/1024 + 1); c.chunkDocs == 0 {
		return c, errPostings
	}
	number, rest, err := uvarint(data[head[0]:])
	if err != nil {
		return c, err
	}
	if number == 0 || number > (all-1)/c.chunkDocs+1 {
		return c, errPostings
	}
	c.ends = make([]uint64, number)
	for i := range c.ends {
		if c.ends[i], rest, err = uvarint(rest); err != nil {
			return c, err
		}
	}
	c.chunks = rest[:c.ends[number-1]]
	return c, nil
}

// uvarint reads a number, and returns the bytes after it too.
func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errPostings
	}
	return v, b[n:], nil
}

// readThroughBleve reads a term of a segment that is not on disk yet, or that a former
// version of the program wrote.
func (r *TermReader) readThroughBleve(field, term string) (c Postings, err error) {
	dict, err := r.seg.Dictionary(field)
	if err != nil {
		return c, fmt.Errorf("read search index: %w", err)
	}
	list, err := dict.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return c, fmt.Errorf("read search index: %w", err)
	}
	it := list.Iterator(true, true, false, nil)
	for {
		p, err := it.Next()
		if err != nil {
			return c, fmt.Errorf("read search index: %w", err)
		}
		if p == nil {
			return c, nil
		}
		if c.Docs == nil {
			c.Docs = roaring.New()
		}
		c.Docs.Add(uint32(p.Number()))
		c.inMemory = append(c.inMemory, termCount{uint32(p.Frequency()), fieldLength(p)})
	}
}

// fieldLength is the number of words of a document's field.
func fieldLength(p segmentapi.Posting) uint32 {
	if exact, ok := p.(interface{ NormUint64() uint64 }); ok {
		return uint32(exact.NormUint64())
	}
	norm := p.Norm()
	return uint32(1/(norm*norm) + 0.5)
}

// errPostings means that a segment's file is damaged.
var errPostings = fmt.Errorf("read a word's counts: %w", ErrDamaged)
