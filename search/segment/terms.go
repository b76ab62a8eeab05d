package segment

import (
	"bytes"
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
			p, err := r.readPostings(at)
			if err != nil {
				return err
			}
			docs, cost = int(p.Docs.GetCardinality()), countCost
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
		visit(e.Term, int(e.Count)) //nolint:gosec // a number of documents
	}
}
