package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Terms calls visit for terms of a field that begin with a prefix, in their order, with
// the number of documents among some that have each; nil stands for all, deleted ones too.
// Of the terms that go on with the same letter it visits about as many as most, those of one
// document counting little: so a short prefix costs little too, and yields terms of the
// whole alphabet. Terms that none of the documents has do not count, up to maxPassed of them.
func (r *TermReader) Terms(field, prefix string, most int, among *roaring.Bitmap, visit func(term string, docs int)) error {
	if among != nil && among.IsEmpty() {
		return nil
	}
	if r.file == nil {
		return r.termsThroughBleve(field, prefix, among, visit)
	}
	dict, err := r.dictionary(field)
	if dict == nil || err != nil {
		return err
	}
	it, err := dict.Iterator([]byte(prefix), nil)
	letter, left, passed := -1, 0, 0
	for err == nil && passed < maxPassed {
		term, at := it.Current()
		if !bytes.HasPrefix(term, []byte(prefix)) {
			return nil
		}
		if next := letterAfter(term, len(prefix)); next != letter {
			letter, left = next, most*countCost
		}
		docs, cost, failed := r.countAmong(at, among)
		if failed != nil {
			return failed
		}
		if docs > 0 {
			visit(string(term), docs)
			left -= cost
		} else {
			passed++
		}
		switch {
		case left > 0 || letter < 0:
			err = it.Next()
		case letter == 0xff:
			return nil
		default:
			err = it.Seek(append([]byte(prefix), byte(letter+1)))
		}
	}
	if err == nil || errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return fmt.Errorf("%w: %w", errPostings, err)
}

// Scan looks at the terms of a field that begin with a prefix, in their order, up to most of
// them, and calls visit for those that keep chooses, with the number of documents among some that
// have each; nil stands for all, deleted ones too. isCut is true where there are more. Terms that
// none of the documents has are as if they were not there.
func (r *TermReader) Scan(field, prefix string, most int, among *roaring.Bitmap, keep func(term string) bool, visit func(term string, docs int)) (isCut bool, err error) {
	if r.file == nil {
		err = r.termsThroughBleve(field, prefix, among, func(term string, docs int) {
			if most--; most >= 0 && keep(term) {
				visit(term, docs)
			}
		})
		return most < 0, err
	}
	err = r.walkTerms(field, prefix, func(term string, at uint64) (bool, error) {
		docs, _, err := r.countAmong(at, among)
		if err != nil || docs == 0 {
			return true, err
		}
		if most--; most >= 0 && keep(term) {
			visit(term, docs)
		}
		return most >= 0, nil
	})
	return most < 0, err
}

// lookUpEach is how many terms are read before the context is looked at.
const lookUpEach = 1024

// Beginning returns those of some documents that have any term of a field that begins with a
// prefix. It fails when the context ends.
func (r *TermReader) Beginning(ctx context.Context, field, prefix string, among *roaring.Bitmap) (*roaring.Bitmap, error) {
	found := roaring.New()
	if r.file == nil {
		var failed error
		err := r.termsThroughBleve(field, prefix, nil, func(term string, _ int) {
			c, err := r.Postings(field, term)
			if err != nil {
				failed = err
			} else if c.Docs != nil {
				found.Or(c.Docs)
			}
		})
		found.And(among)
		return found, errors.Join(err, failed)
	}
	n := 0
	err := r.walkTerms(field, prefix, func(term string, at uint64) (bool, error) {
		c, err := r.postingsAt(at)
		if err != nil {
			return false, err
		}
		found.Or(c.Docs)
		if n++; n%lookUpEach > 0 {
			return true, nil
		}
		return among.AndCardinality(found) < among.GetCardinality(), ctx.Err()
	})
	found.And(among)
	return found, err
}

// walkTerms calls visit for the terms of a field that begin with a prefix, in their order, with
// the place of their postings, until it returns false.
func (r *TermReader) walkTerms(field, prefix string, visit func(term string, at uint64) (bool, error)) error {
	dict, err := r.dictionary(field)
	if dict == nil || err != nil {
		return err
	}
	it, err := dict.Iterator([]byte(prefix), nil)
	for ; err == nil; err = it.Next() {
		term, at := it.Current()
		if !bytes.HasPrefix(term, []byte(prefix)) {
			return nil
		}
		if more, err := visit(string(term), at); !more || err != nil {
			return err
		}
	}
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return fmt.Errorf("%w: %w", errPostings, err)
}

// maxPassed is how many terms of other documents a search for terms passes over.
const maxPassed = 20_000

// countAmong returns how many of some documents, of all where they are nil, have a term
// whose postings are at a place, and the cost of a visit to the term.
func (r *TermReader) countAmong(at uint64, among *roaring.Bitmap) (docs, cost int, err error) {
	if at&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
		if doc, _ := zap.FSTValDecode1Hit(at); among == nil || among.Contains(uint32(doc)) { //nolint:gosec // a document's number
			docs = 1
		}
		return docs, 1, nil
	}
	if among == nil {
		docs, err = r.countDocuments(at)
		return docs, countCost, err
	}
	set, err := r.documentSet(at)
	if err != nil {
		return 0, 0, err
	}
	if _, err := r.counted.FromBuffer(set); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errPostings, err)
	}
	return int(r.counted.AndCardinality(among)), countCost, nil //nolint:gosec // a number of documents
}

// countCost is how many times as long it takes to count the documents of a term as to
// pass over a term that one document has.
const countCost = 8

// The beginnings of the two serialized forms of a set of documents, with and without runs.
const (
	setWithRuns = 12347
	setOfArrays = 12346
)

// countDocuments returns how many documents have a term whose postings are at a place. It
// reads only the heads of the set's containers, which say how many members each has; see
// the specification of Roaring's format.
func (r *TermReader) countDocuments(at uint64) (int, error) {
	set, err := r.documentSet(at)
	if err != nil {
		return 0, err
	}
	size := uint64(len(set))
	cookie := binary.LittleEndian.Uint32(set)
	containers, heads := uint64(binary.LittleEndian.Uint32(set[4:])), uint64(8)
	if cookie&0xffff == setWithRuns {
		containers = uint64(cookie>>16) + 1
		heads = 4 + (containers+7)/8
	} else if cookie != setOfArrays {
		return 0, errPostings
	}
	if containers == 0 || containers > size || heads+4*containers > size {
		return 0, errPostings
	}
	n := uint64(0)
	for i := range containers {
		n += uint64(binary.LittleEndian.Uint16(set[heads+4*i+2:])) + 1
	}
	if n > r.file.NumDocs() {
		return 0, errPostings
	}
	return int(n), nil
}

// documentSet returns the serialized set of the documents of a term whose postings are at a
// place.
func (r *TermReader) documentSet(at uint64) ([]byte, error) {
	rest := r.file.Data()[at:]
	var size uint64
	var err error
	for range 3 { // where the counts are, where the places are, bytes of documents
		if size, rest, err = uvarint(rest); err != nil {
			return nil, err
		}
	}
	if size < 8 || size > uint64(len(rest)) {
		return nil, errPostings
	}
	return rest[:size], nil
}

// letterAfter returns the byte of a term after its first n, or -1.
func letterAfter(term []byte, n int) int {
	if len(term) == n {
		return -1
	}
	return int(term[n])
}

// termsThroughBleve is Terms for a segment that is not on disk yet.
func (r *TermReader) termsThroughBleve(field, prefix string, among *roaring.Bitmap, visit func(term string, docs int)) error {
	dict, err := r.seg.Dictionary(field)
	if err != nil {
		return fmt.Errorf("read search index: %w", err)
	}
	it := dict.AutomatonIterator(nil, []byte(prefix), nil)
	for {
		e, err := it.Next()
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		if e == nil || !bytes.HasPrefix([]byte(e.Term), []byte(prefix)) {
			return nil
		}
		list, err := dict.PostingsList([]byte(e.Term), nil, nil) // e.Count is 1 for all terms behind one of one document
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		docs := int(list.Count()) //nolint:gosec // a number of documents
		if among != nil {
			if docs, err = r.CountIn(field, e.Term, among); err != nil {
				return err
			}
		}
		if docs > 0 {
			visit(e.Term, docs)
		}
	}
}
