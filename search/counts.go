package search

import (
	"encoding/binary"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// counts are the documents of a segment that have a term, how often, and among
// how many words. The zero value is of a term that none has. Keys and pairs have
// only documents.
type counts struct {
	docs *roaring.Bitmap // deleted ones too

	// On disk: for each document two numbers, in chunks that each cover size
	// documents, those without the term too.
	chunks []byte   // all of them
	ends   []uint64 // of each, in chunks
	size   uint64

	held []count // otherwise: for each document, in order
}

type count struct{ times, length uint32 }

// each calls add for all documents, in order.
func (c *counts) each(add func(doc, times, length uint32)) error {
	if c.docs == nil {
		return nil
	}
	docs := c.docs.ManyIterator()
	var buf [512]uint32
	r := countReader{c.chunks, c.held}
	for {
		n := docs.NextMany(buf[:])
		if n == 0 {
			return nil
		}
		for _, doc := range buf[:n] {
			one, ok := r.next()
			if !ok {
				return errCounts
			}
			add(doc, one.times, one.length)
		}
	}
}

// of calls add for those of the given documents that have the term, in order.
func (c *counts) of(given *roaring.Bitmap, add func(doc, times, length uint32)) error {
	if c.docs == nil {
		return nil
	}
	both := roaring.And(given, c.docs)
	docs, all := both.Iterator(), c.docs.Iterator()
	for docs.HasNext() {
		first := docs.PeekNext()
		r, last, err := c.chunkOf(first)
		if err != nil {
			return err
		}
		for all.AdvanceIfNeeded(first); docs.HasNext() && uint64(docs.PeekNext()) <= last; {
			doc := all.Next()
			one, ok := r.next()
			if !ok {
				return errCounts
			}
			if doc == docs.PeekNext() {
				docs.Next()
				add(doc, one.times, one.length)
			}
		}
	}
	return nil
}

// chunkOf reads from a document on, to the last one of its chunk.
func (c *counts) chunkOf(doc uint32) (r countReader, last uint64, err error) {
	before := c.docs.Rank(doc) - 1
	if c.ends == nil {
		return countReader{held: c.held[before:]}, math.MaxUint32, nil
	}
	i := uint64(doc) / c.size
	if i >= uint64(len(c.ends)) {
		return r, 0, errCounts
	}
	begin := uint64(0)
	if i > 0 {
		begin = c.ends[i-1]
		before -= c.docs.Rank(uint32(i*c.size - 1))
	}
	r.chunks = c.chunks[begin:c.ends[i]]
	return r, (i+1)*c.size - 1, r.skip(before)
}

// countReader reads counts one after the other.
type countReader struct {
	chunks []byte
	held   []count
}

func (r *countReader) next() (c count, ok bool) {
	if r.held != nil {
		if len(r.held) == 0 {
			return c, false
		}
		c, r.held = r.held[0], r.held[1:]
		return c, true
	}
	b := r.chunks
	if len(b) >= 2 && b[0] < 0x80 && b[1] < 0x80 {
		r.chunks = b[2:]
		return count{uint32(b[0] >> 1), uint32(b[1])}, true
	}
	times, n := binary.Uvarint(b)
	if n <= 0 {
		return c, false
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return c, false
	}
	r.chunks = b[n+m:]
	return count{uint32(times >> 1), uint32(length)}, true
}

// skip passes over so many documents: each has two numbers, the last byte of
// which is below 0x80.
func (r *countReader) skip(documents uint64) error {
	for left := 2 * documents; left > 0; {
		if len(r.chunks) == 0 {
			return errCounts
		}
		if r.chunks[0] < 0x80 {
			left--
		}
		r.chunks = r.chunks[1:]
	}
	return nil
}
