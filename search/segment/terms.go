package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Terms calls visit for terms of a field that begin with a prefix, in their order, with
// the number of documents that have each, deleted ones too. Of the terms that go on with
// the same letter it reads about as many as most, those of one document counting little:
// so a short prefix costs little too, and yields terms of the whole alphabet.
func (r *TermReader) Terms(field, prefix string, most int, visit func(term string, docs int)) error {
	if r.file == nil {
		return r.termsThroughBleve(field, prefix, visit)
	}
	dict, err := r.dictionary(field)
	if dict == nil || err != nil {
		return err
	}
	it, err := dict.Iterator([]byte(prefix), nil)
	letter, left := -1, 0
	for err == nil {
		term, at := it.Current()
		if !bytes.HasPrefix(term, []byte(prefix)) {
			return nil
		}
		if next := letterAfter(term, len(prefix)); next != letter {
			letter, left = next, most*countCost
		}
		docs, cost := 1, 1
		if at&zap.FSTValEncodingMask != zap.FSTValEncoding1Hit {
			if docs, err = r.countDocuments(at); err != nil {
				return err
			}
			cost = countCost
		}
		visit(string(term), docs)
		switch left -= cost; {
		case left > 0 || letter < 0:
			err = it.Next()
		case letter == 0xff:
			return nil
		default:
			err = it.Seek(append([]byte(prefix), byte(letter+1)))
		}
	}
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return fmt.Errorf("%w: %w", errPostings, err)
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
	rest := r.file.Data()[at:]
	var size uint64
	var err error
	for range 3 { // where the counts are, where the places are, bytes of documents
		if size, rest, err = uvarint(rest); err != nil {
			return 0, err
		}
	}
	if size < 8 || size > uint64(len(rest)) {
		return 0, errPostings
	}
	set := rest[:size]
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

// letterAfter returns the byte of a term after its first n, or -1.
func letterAfter(term []byte, n int) int {
	if len(term) == n {
		return -1
	}
	return int(term[n])
}

// termsThroughBleve is Terms for a segment that is not on disk yet.
func (r *TermReader) termsThroughBleve(field, prefix string, visit func(term string, docs int)) error {
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
		visit(e.Term, int(list.Count())) //nolint:gosec // a number of documents
	}
}
