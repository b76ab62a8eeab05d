package segment

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/golang/snappy"
)

// fieldSpec is a field of every segment. They are the same in all, so that merging
// copies.
type fieldSpec struct {
	name    string
	options index.FieldIndexingOptions
}

const idField = "_id"

// fieldSpecs returns the fields in the order of the format: the id first, then by
// name.
func fieldSpecs() []fieldSpec {
	fields := []fieldSpec{{idField, index.IndexField | index.StoreField}}
	for _, name := range []string{FieldActions, FieldCRM, FieldHighlights, FieldTitle, FieldKeys, FieldPeople, FieldPairs, FieldRecord, FieldSummary, FieldText} {
		options := index.IndexField
		switch name {
		case FieldKeys, FieldPairs:
			options |= index.SkipFreqNorm
		case FieldRecord:
			options = index.StoreField
		}
		fields = append(fields, fieldSpec{name, options})
	}
	slices.SortFunc(fields[1:], func(a, b fieldSpec) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return fields
}

// footer has the places in a segment that its footer names.
type footer struct{ stored, sections uint64 }

// noDocValues stands where a field would say where its doc values are.
const noDocValues = math.MaxUint64

// sharedNodes is how many nodes of a dictionary may be found again, to be
// shared by words with the same ending: fewer than Bleve's, since the next
// merge writes the dictionary anew anyway.
const sharedNodes = 1000

// writer writes one segment into memory, in the order of the format: stored documents,
// the fields' postings and dictionaries, and the places of these.
type writer struct {
	builder      *Builder
	out          []byte
	fieldOffsets []uint64 // for each field, where its addresses are

	dict        bytes.Buffer
	dictBuilder *vellum.Builder
	bitmap      *roaring.Bitmap
	counts      []byte
	lens        []uint64
	roaring     bytes.Buffer
	term        []byte
}

// buildSegment writes the documents of a builder.
func buildSegment(from *Builder) ([]byte, footer, error) {
	w := &writer{builder: from, bitmap: roaring.New()}
	var err error
	if w.dictBuilder, err = vellum.New(&w.dict, &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: sharedNodes, RegistryMRUSize: 2}); err != nil {
		return nil, footer{}, err
	}
	fields := fieldSpecs()
	p := footer{stored: w.writeStored(fields)}
	for _, f := range fields {
		if err := w.writeField(f); err != nil {
			return nil, p, err
		}
	}
	p.sections = w.writeSections(fields)
	return w.out, p, nil
}

func (w *writer) offset() uint64        { return uint64(len(w.out)) }
func (w *writer) writeUvarint(n uint64) { w.out = binary.AppendUvarint(w.out, n) }
func (w *writer) writeUint64(n uint64)  { w.out = binary.BigEndian.AppendUint64(w.out, n) }

// writeStored writes each document's id and record, and a list of where they are.
func (w *writer) writeStored(fields []fieldSpec) (at uint64) {
	record := slices.IndexFunc(fields, func(f fieldSpec) bool { return f.name == FieldRecord })
	offsets := make([]uint64, len(w.builder.docs))
	var meta, packed []byte
	for i, d := range w.builder.docs {
		offsets[i] = w.offset()
		meta = binary.AppendUvarint(meta[:0], uint64(len(d.id)))
		if d.record != nil {
			for _, n := range []uint64{uint64(record), 't', 0, uint64(len(d.record)), 0} {
				meta = binary.AppendUvarint(meta, n)
			}
		}
		packed = snappy.Encode(packed[:cap(packed)], d.record)
		w.writeUvarint(uint64(len(meta)))
		w.writeUvarint(uint64(len(d.id) + len(packed)))
		w.out = append(append(append(w.out, meta...), d.id...), packed...)
	}
	at = w.offset()
	for _, offset := range offsets {
		w.writeUint64(offset)
	}
	w.writeUvarint(0) // no document is inside another
	return at
}

// writeSections writes the places of each field's parts.
func (w *writer) writeSections(fields []fieldSpec) (at uint64) {
	offsets := make([]uint64, len(fields))
	for i, f := range fields {
		offsets[i] = w.offset()
		w.writeUvarint(uint64(len(f.name)))
		w.out = append(w.out, f.name...)
		w.writeUvarint(uint64(f.options))
		w.writeUvarint(1)
		w.out = binary.BigEndian.AppendUint16(w.out, zap.SectionInvertedTextIndex)
		w.writeUint64(w.fieldOffsets[i])
	}
	at = w.offset()
	w.writeUvarint(uint64(len(fields)))
	for _, offset := range offsets {
		w.writeUint64(offset)
	}
	return at
}
