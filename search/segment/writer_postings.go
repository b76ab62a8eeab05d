package segment

import (
	"encoding/binary"
	"slices"

	zap "github.com/blevesearch/zapx/v17"
)

// writeField writes a field's postings, its dictionary, and the place of that.
func (w *writer) writeField(f fieldSpec) error {
	w.dict.Reset()
	if err := w.dictBuilder.Reset(&w.dict); err != nil {
		return err
	}
	var err error
	switch f.name {
	case idField:
		err = w.writeIDs()
	case FieldPairs:
		err = w.writePairs()
	default:
		err = w.writeTerms(f.name)
	}
	if err != nil {
		return err
	}
	if err := w.dictBuilder.Close(); err != nil {
		return err
	}
	dict := w.offset()
	w.writeUvarint(uint64(w.dict.Len()))
	w.out = append(w.out, w.dict.Bytes()...)
	w.fieldOffsets = append(w.fieldOffsets, w.offset())
	w.writeUvarint(noDocValues)
	w.writeUvarint(noDocValues)
	w.writeUvarint(dict)
	return nil
}

// writeIDs writes the documents' ids: each is in the dictionary with its document.
func (w *writer) writeIDs() error {
	docs := make([]uint32, len(w.builder.docs))
	for i := range docs {
		docs[i] = uint32(i)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		if w.builder.docs[a].id < w.builder.docs[b].id {
			return -1
		}
		return 1
	})
	for _, d := range docs {
		if err := w.dictBuilder.Insert([]byte(w.builder.docs[d].id), zap.FSTValEncode1Hit(uint64(d), 1)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeTerms(field string) error {
	_, terms := w.builder.Words.sortTerms()
	lengths := w.builder.lengths[field]
	return w.builder.eachPostingList(w.builder.singles[field], func(p *postingList) error {
		w.term = append(w.term[:0], terms[p.a]...)
		return w.writePostings(p, lengths)
	})
}

func (w *writer) writePairs() error {
	_, terms := w.builder.Words.sortTerms()
	for _, field := range slices.Sorted(slices.Values([]string{FieldText, FieldTitle, FieldSummary, FieldHighlights, FieldActions, FieldCRM})) {
		err := w.builder.eachPostingList(w.builder.pairs[field], func(p *postingList) error {
			w.term = appendPair(w.term[:0], field, terms[p.a], terms[p.b])
			return w.writePostings(p, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writePostings writes the documents that have the writer's term. With lengths it adds
// how often, and among how many words.
func (w *writer) writePostings(p *postingList, lengths []uint32) error {
	if len(p.docs) == 1 && lengths != nil && p.counts[0] == 1 {
		return w.dictBuilder.Insert(w.term, zap.FSTValEncode1Hit(uint64(p.docs[0]), uint64(lengths[p.docs[0]])))
	}
	counts := w.offset()
	w.writeCounts(p, lengths)
	w.bitmap.Clear()
	w.bitmap.AddMany(p.docs)
	w.roaring.Reset()
	if _, err := w.bitmap.WriteTo(&w.roaring); err != nil {
		return err
	}
	at := w.offset()
	w.writeUvarint(counts)
	w.writeUvarint(0) // no places of words
	w.writeUvarint(uint64(w.roaring.Len()))
	w.out = append(w.out, w.roaring.Bytes()...)
	return w.dictBuilder.Insert(w.term, at)
}

// writeCounts writes how often each document has the term, in chunks of so many
// documents that each covers about 1024 of the term's.
func (w *writer) writeCounts(p *postingList, lengths []uint32) {
	docs := uint64(len(w.builder.docs))
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
	w.writeUvarint(uint64(len(w.lens)))
	end := uint64(0)
	for _, n := range w.lens {
		end += n
		w.writeUvarint(end)
	}
	w.out = append(w.out, w.counts...)
}
