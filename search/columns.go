package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// columns hold the values of one segment's meetings that counting and ordering need,
// by document number. A segment never changes, so they are read once. They stay in memory
// for all meetings, so they are as small as fast counting allows.
type columns struct {
	id      []int64
	start   []int64 // Unix milliseconds
	seconds []int32
	words   []int32
	single  [singleFields][]uint32 // language, type, team: numbers of strings
	multi   [multiFields]lists     // has, domains, people
	places  places

	mu   sync.Mutex // guards sums
	sums *sums
}

// sums are of a segment's living meetings.
type sums struct {
	meetings  int
	words     int64
	languages map[uint32]int // meetings, by the numbers of strings
}

// sumsOf adds up the living meetings, anew only when some were deleted since.
func (c *columns) sumsOf(seg *scorch.SegmentSnapshot) *sums {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sums != nil && c.sums.meetings == int(seg.Count()) {
		return c.sums
	}
	s := &sums{languages: map[uint32]int{}}
	for it := livingDocuments(seg).Iterator(); it.HasNext(); {
		doc := it.Next()
		s.meetings++
		s.words += int64(c.words[doc])
		s.languages[c.single[singleLanguage][doc]]++
	}
	c.sums = s
	return s
}

// Fields with one value a meeting, and with many.
const (
	singleLanguage = iota
	singleType
	singleTeam
	singleFields
)
const (
	multiParts = iota
	multiDomains
	multiPeople
	multiFields
)

type segmentKey struct {
	store *store
	id    uint64
}

// columnCache keeps the columns of the segments in use.
type columnCache struct {
	mu        sync.Mutex // guards all
	bySegment map[segmentKey]*columns
	numbers   map[string]uint32
	values    []string

	beginnings []beginning // of the words of the first so many values, in order
	sorted     int         // how many

	folded    map[string]uint32   // of the first so many values, the first with each folded form
	compared  int                 // how many
	spellings map[uint32][]uint32 // the values that fold like one of those, where there are several
}

func newColumnCache() *columnCache {
	return &columnCache{bySegment: map[segmentKey]*columns{}, numbers: map[string]uint32{}, folded: map[string]uint32{}, spellings: map[uint32][]uint32{}}
}

// columnsOf returns the columns of a snapshot's segments, reading those that are new
// and forgetting those that are gone.
func (c *columnCache) columnsOf(s *store, snap *scorch.IndexSnapshot) ([]*columns, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	segments := snap.Segments()
	out := make([]*columns, len(segments))
	used := map[segmentKey]bool{}
	for i, seg := range segments {
		key := segmentKey{s, seg.Id()}
		used[key] = true
		cols, ok := c.bySegment[key]
		if !ok {
			var err error
			if cols, err = c.readColumns(seg); err != nil {
				return nil, err
			}
			c.bySegment[key] = cols
		}
		out[i] = cols
	}
	for key := range c.bySegment {
		if key.store == s && !used[key] {
			delete(c.bySegment, key)
		}
	}
	return out, nil
}

// forgetStore forgets the columns of a store.
func (c *columnCache) forgetStore(s *store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.bySegment {
		if key.store == s {
			delete(c.bySegment, key)
		}
	}
}

func (c *columnCache) readColumns(seg *scorch.SegmentSnapshot) (*columns, error) {
	n := int(seg.FullSize())
	cols := &columns{id: make([]int64, n), start: make([]int64, n), seconds: make([]int32, n), words: make([]int32, n)}
	for i := range cols.single {
		cols.single[i] = make([]uint32, n)
	}
	var multi [multiFields]*listWriter
	for i := range multi {
		multi[i] = newListWriter(n)
	}
	var r storedRecord
	for doc := range n {
		var raw []byte
		err := seg.VisitDocument(uint64(doc), func(field string, _ byte, value []byte, _ []uint64) bool {
			if field == segment.FieldRecord {
				raw = append(raw[:0], value...)
			}
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if err := r.decode(raw, c.intern); err != nil {
			return nil, err
		}
		cols.id[doc], cols.start[doc], cols.seconds[doc], cols.words[doc] = r.id, r.start, int32(min(r.seconds, math.MaxInt32)), int32(r.words)
		for i, value := range r.single {
			cols.single[i][doc] = value
		}
		for i, list := range r.multi {
			multi[i].add(list)
		}
	}
	for i, w := range multi {
		cols.multi[i] = w.finish()
	}
	cols.places = newPlaces(cols.id)
	return cols, nil
}

// intern gives every string a number. The caller holds mu.
func (c *columnCache) intern(b []byte) uint32 {
	n, ok := c.numbers[string(b)]
	if !ok {
		n = uint32(len(c.values))
		c.numbers[string(b)] = n
		c.values = append(c.values, string(b))
	}
	return n
}

// valueOf returns the string of a number.
func (c *columnCache) valueOf(n uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[n]
}

// livingDocuments is the set of a segment's documents that are not deleted.
func livingDocuments(seg *scorch.SegmentSnapshot) *roaring.Bitmap {
	all := roaring.New()
	all.AddRange(0, uint64(seg.FullSize()))
	if gone := seg.Deleted(); gone != nil {
		all.AndNot(gone)
	}
	return all
}

// valueCount returns how many strings have a number.
func (c *columnCache) valueCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}

// allValues returns the strings by their numbers. The caller does not change them.
func (c *columnCache) allValues() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values
}

// beginning is where a word of a string begins, down to the string's end, in the folded
// form.
type beginning struct {
	text   string
	number uint32 // of the string
}

// valuesWith returns the numbers of the strings whose folded words begin with a prefix, or
// do so from one of their words on, in order.
func (c *columnCache) valuesWith(prefix string) (numbers []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sortBeginnings()
	at, _ := slices.BinarySearchFunc(c.beginnings, prefix, func(b beginning, prefix string) int { return strings.Compare(b.text, prefix) })
	for ; at < len(c.beginnings) && strings.HasPrefix(c.beginnings[at].text, prefix); at++ {
		numbers = append(numbers, c.beginnings[at].number)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// sortBeginnings adds the beginnings of the strings that are new. The caller holds mu.
func (c *columnCache) sortBeginnings() {
	if c.sorted == len(c.values) {
		return
	}
	for n, value := range c.values[c.sorted:] {
		words := text.PhraseTerms(value)
		folded := strings.Join(words, " ")
		for _, w := range words {
			c.beginnings = append(c.beginnings, beginning{folded, uint32(c.sorted + n)}) //nolint:gosec // an index
			folded = strings.TrimPrefix(folded[len(w):], " ")
		}
	}
	c.sorted = len(c.values)
	slices.SortFunc(c.beginnings, func(a, b beginning) int { return strings.Compare(a.text, b.text) })
}

// addSpellings adds the counts of strings that fold alike up at the one with the highest.
func (c *columnCache) addSpellings(counts []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compareSpellings()
	for _, all := range c.spellings {
		most, sum := all[0], 0
		for _, n := range all {
			if int(n) >= len(counts) {
				break
			}
			sum += counts[n]
			if counts[n] > counts[most] || counts[n] == counts[most] && c.values[n] < c.values[most] {
				most = n
			}
		}
		for _, n := range all {
			if int(n) < len(counts) {
				counts[n] = 0
			}
		}
		if sum > 0 {
			counts[most] = sum
		}
	}
}

// spelled returns the numbers of the strings that fold like this one.
func (c *columnCache) spelled(value string) []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compareSpellings()
	first, ok := c.folded[text.Fold(value)]
	if !ok {
		return nil
	}
	if all := c.spellings[first]; len(all) > 0 {
		return all
	}
	return []uint32{first}
}

// firstSpelling returns the number of the first string that folds like that of a number.
func (c *columnCache) firstSpelling(n uint32) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compareSpellings()
	return c.folded[text.Fold(c.values[n])]
}

// compareSpellings compares the strings that are new. The caller holds mu.
func (c *columnCache) compareSpellings() {
	for ; c.compared < len(c.values); c.compared++ {
		n, fold := uint32(c.compared), text.Fold(c.values[c.compared]) //nolint:gosec // an index
		first, ok := c.folded[fold]
		switch {
		case !ok:
			c.folded[fold] = n
		case len(c.spellings[first]) == 0:
			c.spellings[first] = []uint32{first, n}
		default:
			c.spellings[first] = append(c.spellings[first], n)
		}
	}
}
