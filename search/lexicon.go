package search

import (
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Counting is where a search spends its time: a common word is in most meetings,
// in several forms and fields, and Bleve reads each of its counts through three
// interfaces. Segments on disk are read here directly, in the format that
// segmentpostings.go writes; those still in memory, which are small, through Bleve.

// lexicon finds the terms of one segment. Only one goroutine at a time may use it.
type lexicon struct {
	seg   segment.Segment
	gone  *roaring.Bitmap        // deleted documents; nil: none
	disk  *zap.Segment           // nil: in memory
	dicts map[string]*vellum.FST // on disk, by field
}

func newLexicon(seg *scorch.SegmentSnapshot) *lexicon {
	return lexiconOf(seg.Segment(), seg.Deleted())
}

func lexiconOf(seg segment.Segment, gone *roaring.Bitmap) *lexicon {
	l := &lexicon{seg: seg, gone: gone, dicts: map[string]*vellum.FST{}}
	if disk, ok := seg.(*zap.Segment); ok && disk.ChunkMode() == zap.DefaultChunkMode && disk.Version() == segmentVersion {
		l.disk = disk
	}
	return l
}

// with is the set of living documents that have a term. The caller may change it.
func (l *lexicon) with(field, term string) (*roaring.Bitmap, error) {
	c, err := l.term(field, term)
	if err != nil || c.docs == nil {
		return roaring.New(), err
	}
	if l.gone != nil {
		c.docs.AndNot(l.gone)
	}
	return c.docs, nil
}

// number is how many living documents have a term.
func (l *lexicon) number(field, term string) (int, error) {
	c, err := l.term(field, term)
	if err != nil || c.docs == nil {
		return 0, err
	}
	n := c.docs.GetCardinality()
	if l.gone != nil {
		n -= c.docs.AndCardinality(l.gone)
	}
	return int(n), nil
}

// term is what a segment knows of a term in a field.
func (l *lexicon) term(field, term string) (counts, error) {
	if l.disk == nil {
		return l.inMemory(field, term)
	}
	dict, err := l.dict(field)
	if dict == nil || err != nil {
		return counts{}, err
	}
	at, ok, err := dict.Get([]byte(term))
	if err != nil {
		return counts{}, fmt.Errorf("%w: %w", errCounts, err)
	}
	if !ok {
		return counts{}, nil
	}
	if at&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
		doc, length := zap.FSTValDecode1Hit(at)
		if doc >= l.disk.NumDocs() {
			return counts{}, errCounts
		}
		return counts{docs: roaring.BitmapOf(uint32(doc)), held: []count{{1, uint32(length)}}}, nil
	}
	return l.onDisk(at)
}

// dict is the dictionary of a field on disk, nil where there is none.
func (l *lexicon) dict(field string) (*vellum.FST, error) {
	if d, ok := l.dicts[field]; ok {
		return d, nil
	}
	at, err := l.disk.DictAddr(field)
	if err != nil { // the field is not in the segment
		l.dicts[field] = nil
		return nil, nil
	}
	size, rest, err := uvarint(l.disk.Data()[at:])
	if err != nil {
		return nil, err
	}
	d, err := vellum.Load(rest[:size])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCounts, err)
	}
	l.dicts[field] = d
	return d, nil
}

// onDisk reads a term's documents and where their counts are.
func (l *lexicon) onDisk(at uint64) (c counts, err error) {
	data := l.disk.Data()
	rest := data[at:]
	var head [3]uint64 // where the counts are, where the places are, bytes of documents
	for i := range head {
		if head[i], rest, err = uvarint(rest); err != nil {
			return c, err
		}
	}
	c.docs = roaring.New()
	if _, err := c.docs.FromBuffer(rest[:head[2]]); err != nil {
		return c, fmt.Errorf("%w: %w", errCounts, err)
	}
	all, some := l.disk.NumDocs(), c.docs.GetCardinality()
	if some == 0 || some > all || uint64(c.docs.Maximum()) >= all {
		return c, errCounts
	}
	if c.size = all / (some/1024 + 1); c.size == 0 {
		return c, errCounts
	}
	number, rest, err := uvarint(data[head[0]:])
	if err != nil {
		return c, err
	}
	if number == 0 || number > (all-1)/c.size+1 {
		return c, errCounts
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

// uvarint reads a number, and what comes after it.
func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errCounts
	}
	return v, b[n:], nil
}

// inMemory reads a term of a segment that is not on disk yet, or that a former
// version of the program wrote.
func (l *lexicon) inMemory(field, term string) (c counts, err error) {
	dict, err := l.seg.Dictionary(field)
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
		if c.docs == nil {
			c.docs = roaring.New()
		}
		c.docs.Add(uint32(p.Number()))
		c.held = append(c.held, count{uint32(p.Frequency()), lengthOf(p)})
	}
}

// lengthOf is the number of words of a document's field.
func lengthOf(p segment.Posting) uint32 {
	if exact, ok := p.(interface{ NormUint64() uint64 }); ok {
		return uint32(exact.NormUint64())
	}
	norm := p.Norm()
	return uint32(1/(norm*norm) + 0.5)
}

// errCounts means that a segment's file is damaged.
var errCounts = fmt.Errorf("read a word's counts: %w", ErrDamaged)
