package search

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// lists hold a list of numbers for each document. Equal lists are kept once: meetings
// that repeat have the same people.
type lists struct {
	begins  []uint32 // by document: where its list begins in numbers
	numbers []uint32 // of each list its length, then its numbers
}

// list returns the numbers of a document. The caller does not change them.
func (l *lists) list(doc uint32) []uint32 {
	at := l.begins[doc]
	return l.numbers[at+1 : at+1+l.numbers[at]]
}

// listWriter puts lists together, document after document.
type listWriter struct {
	lists
	seed  maphash.Seed
	known map[uint64]uint32 // where the last list with a hash begins
	bytes []byte            // of the list that is being added
}

func newListWriter(documents int) *listWriter {
	return &listWriter{lists: lists{begins: make([]uint32, 0, documents)}, seed: maphash.MakeSeed(), known: map[uint64]uint32{}}
}

// add adds the list of the next document.
func (w *listWriter) add(list []uint32) {
	w.bytes = w.bytes[:0]
	for _, n := range list {
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, n)
	}
	hash := maphash.Bytes(w.seed, w.bytes)
	at, ok := w.known[hash]
	if length := uint32(len(list)); !ok || w.numbers[at] != length || !slices.Equal(w.numbers[at+1:at+1+length], list) {
		at = uint32(len(w.numbers))
		w.known[hash] = at
		w.numbers = append(append(w.numbers, length), list...)
	}
	w.begins = append(w.begins, at)
}

// finish returns the lists, without the room for more.
func (w *listWriter) finish() lists {
	return lists{w.begins, slices.Clone(w.numbers)}
}

// places finds the document of a meeting by its id. It is a hash table in half of the
// memory of a map.
type places struct {
	ids   []int64  // by document
	table []uint32 // the document plus 1, at its id's place or after it; 0: none
	shift int      // of a product, down to a place
}

// newPlaces returns the table of documents, whose ids are all different.
func newPlaces(ids []int64) places {
	size := bits.Len(uint(len(ids) + len(ids)/4)) // so that a fifth is free, or more
	p := places{ids, make([]uint32, 1<<size), 64 - size}
	for doc, id := range ids {
		at := p.begin(id)
		for p.table[at] != 0 {
			at = (at + 1) & (len(p.table) - 1)
		}
		p.table[at] = uint32(doc) + 1
	}
	return p
}

// begin returns where the place of an id is looked for first: at the upper bits of its
// product with the golden ratio, which puts neighbours far apart.
func (p places) begin(id int64) int {
	return int(uint64(id) * 0x9e3779b97f4a7c15 >> p.shift)
}

// find returns the document with an id.
func (p places) find(id int64) (doc uint32, ok bool) {
	for at := p.begin(id); ; at = (at + 1) & (len(p.table) - 1) {
		n := p.table[at]
		if n == 0 {
			return 0, false
		}
		if p.ids[n-1] == id {
			return n - 1, true
		}
	}
}
