package service

import (
	"encoding/binary"
	"slices"
	"strings"
)

// word is a string that the mirror knows, as a small number.
type word uint32

// interner gives out words. Only the mirror's refresh adds to it.
type interner struct {
	ids   map[string]word
	texts []string
}

func newInterner() interner { return interner{ids: map[string]word{}} }

func (in *interner) of(text string) word {
	w, ok := in.ids[text]
	if !ok {
		text = strings.Clone(text)
		w = word(len(in.texts))
		in.ids[text], in.texts = w, append(in.texts, text)
	}
	return w
}

// group is a list of words that the mirror knows, as a small number: thousands
// of meetings are seen by the same parties.
type group uint32

// groups gives out groups. Only the mirror's refresh adds to it.
type groups struct {
	ids   map[string]group
	words [][]word
}

func newGroups() groups { return groups{ids: map[string]group{}} }

func (g *groups) of(in *interner, texts []string) group {
	words := make([]word, len(texts))
	key := make([]byte, 0, 4*len(texts))
	for i, text := range texts {
		words[i] = in.of(text)
		key = binary.BigEndian.AppendUint32(key, uint32(words[i]))
	}
	id, ok := g.ids[string(key)]
	if !ok {
		id = group(len(g.words))
		g.ids[string(key)], g.words = id, append(g.words, words)
	}
	return id
}

// wordSet is a set of words as bits.
type wordSet []uint64

func (s wordSet) with(w word) wordSet {
	for int(w/64) >= len(s) {
		s = append(s, 0)
	}
	s[w/64] |= 1 << (w % 64)
	return s
}

func (s wordSet) has(w word) bool { return int(w/64) < len(s) && s[w/64]&(1<<(w%64)) != 0 }

func (s wordSet) any(words []word) bool { return slices.ContainsFunc(words, s.has) }

// memo remembers answers by number: 0 is not asked yet.
type memo []uint8

const (
	memoNo  = 1
	memoYes = 2
)

// set remembers an answer and returns it.
func (m memo) set(i int, yes bool) bool {
	m[i] = memoNo
	if yes {
		m[i] = memoYes
	}
	return yes
}
