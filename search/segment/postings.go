package segment

import (
	"encoding/binary"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// Postings are the documents of a segment that have a term, how often, and among how
// many words. The zero value is of a term that none has. Keys and pairs have only
// documents.
type Postings struct {
	Docs *roaring.Bitmap // deleted ones too

	// On disk: for each document two numbers, in chunks that each cover chunkDocs
	// documents, those without the term too.
	chunks    []byte   // all of them
	ends      []uint64 // of each, in chunks
	chunkDocs uint64

	inMemory []termCount // otherwise: for each document, in order
}

// termCount is how often a document has a term, and how many words its field has.
type termCount struct{ times, length uint32 }

// Each calls add for all documents, in order.
func (p *Postings) Each(add func(doc, times, length uint32)) error {
	if p.Docs == nil {
		return nil
	}
	docs := p.Docs.ManyIterator()
	var buf [512]uint32
	r := countReader{p.chunks, p.inMemory}
	for {
		n := docs.NextMany(buf[:])
		if n == 0 {
			return nil
		}
		for _, doc := range buf[:n] {
			posting, ok := r.next()
			if !ok {
				return errPostings
			}
			add(doc, posting.times, posting.length)
		}
	}
}

// EachIn calls add for those of the given documents that have the term, in order.
func (p *Postings) EachIn(given *roaring.Bitmap, add func(doc, times, length uint32)) error {
	if p.Docs == nil {
		return nil
	}
	both := roaring.And(given, p.Docs)
	docs, all := both.Iterator(), p.Docs.Iterator()
	for docs.HasNext() {
		first := docs.PeekNext()
		r, last, err := p.chunkAt(first)
		if err != nil {
			return err
		}
		for all.AdvanceIfNeeded(first); docs.HasNext() && uint64(docs.PeekNext()) <= last; {
			doc := all.Next()
			posting, ok := r.next()
			if !ok {
				return errPostings
			}
			if doc == docs.PeekNext() {
				docs.Next()
				add(doc, posting.times, posting.length)
			}
		}
	}
	return nil
}

// chunkAt returns a reader that begins with a document, and the last document of its
// chunk.
func (p *Postings) chunkAt(doc uint32) (r countReader, last uint64, err error) {
	before := p.Docs.Rank(doc) - 1
	if p.ends == nil {
		return countReader{inMemory: p.inMemory[before:]}, math.MaxUint32, nil
	}
	i := uint64(doc) / p.chunkDocs
	if i >= uint64(len(p.ends)) {
		return r, 0, errPostings
	}
	begin := uint64(0)
	if i > 0 {
		begin = p.ends[i-1]
		before -= p.Docs.Rank(uint32(i*p.chunkDocs - 1))
	}
	r.chunks = p.chunks[begin:p.ends[i]]
	return r, (i+1)*p.chunkDocs - 1, r.skip(before)
}

// countReader reads counts one after the other.
type countReader struct {
	chunks   []byte
	inMemory []termCount
}

func (r *countReader) next() (c termCount, ok bool) {
	if r.inMemory != nil {
		if len(r.inMemory) == 0 {
			return c, false
		}
		c, r.inMemory = r.inMemory[0], r.inMemory[1:]
		return c, true
	}
	b := r.chunks
	if len(b) >= 2 && b[0] < 0x80 && b[1] < 0x80 {
		r.chunks = b[2:]
		return termCount{uint32(b[0] >> 1), uint32(b[1])}, true
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
	return termCount{uint32(times >> 1), uint32(length)}, true
}

// skip passes over so many documents: each has two numbers, the last byte of
// which is below 0x80.
func (r *countReader) skip(documents uint64) error {
	for left := 2 * documents; left > 0; {
		if len(r.chunks) == 0 {
			return errPostings
		}
		if r.chunks[0] < 0x80 {
			left--
		}
		r.chunks = r.chunks[1:]
	}
	return nil
}
