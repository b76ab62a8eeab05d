package search

import (
	"encoding/binary"
	"slices"

	zap "github.com/blevesearch/zapx/v17"
)

// field writes a field's postings, its dictionary, and where that is.
func (w *segmentWriter) field(f segmentField) error {
	w.dict.Reset()
	if err := w.builder.Reset(&w.dict); err != nil {
		return err
	}
	var err error
	switch f.name {
	case idField:
		err = w.ids()
	case fieldPairs:
		err = w.pairs()
	default:
		err = w.singles(f.name)
	}
	if err != nil {
		return err
	}
	if err := w.builder.Close(); err != nil {
		return err
	}
	dict := w.count()
	w.uvarint(uint64(w.dict.Len()))
	w.out = append(w.out, w.dict.Bytes()...)
	w.at = append(w.at, w.count())
	w.uvarint(noDocValues)
	w.uvarint(noDocValues)
	w.uvarint(dict)
	return nil
}

// ids writes the documents' ids: each is in the dictionary with its document.
func (w *segmentWriter) ids() error {
	docs := make([]uint32, len(w.from.docs))
	for i := range docs {
		docs[i] = uint32(i)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		if w.from.docs[a].id < w.from.docs[b].id {
			return -1
		}
		return 1
	})
	for _, d := range docs {
		if err := w.builder.Insert([]byte(w.from.docs[d].id), zap.FSTValEncode1Hit(uint64(d), 1)); err != nil {
			return err
		}
	}
	return nil
}

func (w *segmentWriter) singles(field string) error {
	_, terms := w.from.words.order()
	lengths := w.from.lengths[field]
	return w.from.sorted(w.from.singles[field], func(p *posting) error {
		w.term = append(w.term[:0], terms[p.a]...)
		return w.posting(p, lengths)
	})
}

func (w *segmentWriter) pairs() error {
	_, terms := w.from.words.order()
	for _, field := range slices.Sorted(slices.Values([]string{fieldText, fieldTitle, fieldSummary, fieldHighlights, fieldActions, fieldCRM})) {
		err := w.from.sorted(w.from.pairs[field], func(p *posting) error {
			w.term = appendPair(w.term[:0], field, terms[p.a], terms[p.b])
			return w.posting(p, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// posting writes the documents that have the writer's term. With lengths goes
// how often, and among how many words.
func (w *segmentWriter) posting(p *posting, lengths []uint32) error {
	if len(p.docs) == 1 && lengths != nil && p.counts[0] == 1 {
		return w.builder.Insert(w.term, zap.FSTValEncode1Hit(uint64(p.docs[0]), uint64(lengths[p.docs[0]])))
	}
	counts := w.count()
	w.chunks(p, lengths)
	w.bitmap.Clear()
	w.bitmap.AddMany(p.docs)
	w.roaring.Reset()
	if _, err := w.bitmap.WriteTo(&w.roaring); err != nil {
		return err
	}
	at := w.count()
	w.uvarint(counts)
	w.uvarint(0) // no places of words
	w.uvarint(uint64(w.roaring.Len()))
	w.out = append(w.out, w.roaring.Bytes()...)
	return w.builder.Insert(w.term, at)
}

// chunks writes how often each document has the term, in chunks of so many
// documents that each covers about 1024 of the term's.
func (w *segmentWriter) chunks(p *posting, lengths []uint32) {
	docs := uint64(len(w.from.docs))
	size := docs / (uint64(len(p.docs))/1024 + 1)
	w.lens = slices.Grow(w.lens[:0], int((docs-1)/size+1))[:(docs-1)/size+1]
	clear(w.lens)
	w.counts = w.counts[:0]
	for i, d := range p.docs {
		before := len(w.counts)
		if lengths == nil {
			w.counts = append(w.counts, 0)
		} else {
			w.counts = binary.AppendUvarint(w.counts, uint64(p.counts[i])<<1)
			w.counts = binary.AppendUvarint(w.counts, uint64(lengths[d]))
		}
		w.lens[uint64(d)/size] += uint64(len(w.counts) - before)
	}
	w.uvarint(uint64(len(w.lens)))
	end := uint64(0)
	for _, n := range w.lens {
		end += n
		w.uvarint(end)
	}
	w.out = append(w.out, w.counts...)
}
