package mirror

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"
)

// symbol is a text that the mirror holds, as a small number.
type symbol uint32

// symbols gives each text its symbol. Only Refresh adds to it.
type symbols struct {
	ids   map[string]symbol
	texts []string
}

func newSymbols() symbols { return symbols{ids: map[string]symbol{}} }

func (s *symbols) add(text string) symbol {
	id, ok := s.ids[text]
	if !ok {
		text = strings.Clone(text)
		id = symbol(len(s.texts))
		s.ids[text], s.texts = id, append(s.texts, text)
	}
	return id
}

// set returns the symbols of those texts that the mirror holds.
func (s *symbols) set(texts []string) *bitset.BitSet {
	set := &bitset.BitSet{}
	for _, text := range texts {
		if id, ok := s.ids[text]; ok {
			set.Set(uint(id))
		}
	}
	return set
}

// listID is a list of symbols, as a small number: thousands of meetings are seen
// by the same principals.
type listID uint32

// symbolLists gives each list its number. Only Refresh adds to it.
type symbolLists struct {
	ids     map[string]listID
	symbols [][]symbol
}

func newSymbolLists() symbolLists { return symbolLists{ids: map[string]listID{}} }

func (l *symbolLists) add(s *symbols, texts []string) listID {
	list := make([]symbol, len(texts))
	key := make([]byte, 0, 4*len(texts))
	for i, text := range texts {
		list[i] = s.add(text)
		key = binary.BigEndian.AppendUint32(key, uint32(list[i]))
	}
	id, ok := l.ids[string(key)]
	if !ok {
		id = listID(len(l.symbols))
		l.ids[string(key)], l.symbols = id, append(l.symbols, list)
	}
	return id
}

// hasAny reports whether a list has a symbol of a set.
func (l *symbolLists) hasAny(id listID, set *bitset.BitSet) bool {
	return slices.ContainsFunc(l.symbols[id], func(s symbol) bool { return set.Test(uint(s)) })
}

// listTest tells which lists have a symbol of a set, and looks into each list
// once.
type listTest struct {
	lists          *symbolLists
	set            *bitset.BitSet
	tested, passed *bitset.BitSet // by list
}

func (l *symbolLists) newTest(set *bitset.BitSet) listTest {
	return listTest{l, set, bitset.New(uint(len(l.symbols))), bitset.New(uint(len(l.symbols)))}
}

func (t *listTest) has(id listID) bool {
	if t.tested.Test(uint(id)) {
		return t.passed.Test(uint(id))
	}
	has := t.lists.hasAny(id, t.set)
	t.tested.Set(uint(id))
	t.passed.SetTo(uint(id), has)
	return has
}
