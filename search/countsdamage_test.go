package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"minutebook/internal/testrun"
)

// TestDamagedCounts breaks bytes of a segment's file, or cuts it while it is
// read. Reading a term then ends in an error, a panic that searches recover
// from, or counts, of no more documents than fit the file.
func TestDamagedCounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	path := filepath.Join(t.TempDir(), "whole.zap")
	made := countedSegment(t, rand.New(rand.NewPCG(1, 1)), 2500)
	if err := made.(segment.UnpersistedSegment).Persist(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := openSegment(t, path)
	end := int(whole.(*zap.Segment).SectionsIndexOffset())
	whole.Close()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { readDamaged(t, raw, end, seed) })
	}
}

// readDamaged breaks up to 40 bytes before end, as the seed says, and reads.
func readDamaged(t *testing.T, raw []byte, end int, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	path := filepath.Join(t.TempDir(), "broken.zap")
	broken := bytes.Clone(raw)
	for range seed % 40 {
		b := &broken[rnd.IntN(end)]
		*b = []byte{0, 0x80, 0xff, *b ^ 1<<rnd.IntN(8), byte(rnd.Uint32())}[rnd.IntN(5)]
	}
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	seg, err := (&segmentPlugin{}).Open(path)
	if err != nil {
		return
	}
	defer seg.Close()
	if seed%10 == 0 {
		if err := os.Truncate(path, int64(rnd.IntN(len(raw)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, field := range []string{fieldText, fieldTitle, fieldKeys} {
		for _, term := range append(slices.Sorted(maps.Keys(countedWords)), "once7", "m:3", "all") {
			readBroken(t, seg, field, term, rnd, len(raw))
		}
	}
}

// readBroken reads a term of a broken file in every way there is.
func readBroken(t *testing.T, seg segment.Segment, field, term string, rnd *rand.Rand, size int) {
	words := lexiconOf(seg, someOf(rnd, seg.Count()))
	some := someOf(rnd, seg.Count())
	left := size
	scores := make([]uint32, seg.Count())
	add := func(doc, times, _ uint32) {
		if left--; left < 0 {
			t.Fatalf("%s %q: there are more documents than bytes", field, term)
		}
		scores[doc] += times // as searches do: a panic, where there is no such document
	}
	for _, read := range []func() error{
		func() error { _, err := words.with(field, term); return err },
		func() error { _, err := words.number(field, term); return err },
		func() error {
			c, err := words.term(field, term)
			if err == nil && field != fieldKeys {
				err = c.each(add)
			}
			return err
		},
		func() error {
			c, err := words.term(field, term)
			if err == nil && field != fieldKeys {
				left = size
				err = c.of(some, add)
			}
			return err
		},
	} {
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { recover() }()
			if err := read(); err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %q: %v", field, term, err)
			}
		}()
	}
}

// spoilCounts makes endless numbers of the counts of a segment's words, and
// says of how many.
func spoilCounts(t *testing.T, path string) (spoiled int) {
	seg := openSegment(t, path)
	defer seg.Close()
	raw := bytes.Clone(seg.(*zap.Segment).Data())
	dict, err := seg.Dictionary(fieldText)
	if err != nil {
		t.Fatal(err)
	}
	words := lexiconOf(seg, nil)
	for it := dict.AutomatonIterator(nil, nil, nil); ; {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		c, err := words.term(fieldText, e.Term)
		if err != nil {
			t.Fatal(err)
		}
		if c.ends != nil {
			copy(raw[len(raw)-cap(c.chunks):], bytes.Repeat([]byte{0x80}, len(c.chunks)))
			spoiled++
		}
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return spoiled
}

// TestSpoiledCounts searches an index of which only the counts of words are
// damaged: the search says so, and the index is built anew.
func TestSpoiledCounts(t *testing.T) {
	for _, workers := range []int{1, 4} {
		h := newHouse(t)
		for _, m := range threeMeetings() { // a segment for each
			h.add(m)
			h.catchUp()
		}
		h.close()
		spoiled := 0
		for _, path := range filesOf(t, h.dir, ".zap") {
			if strings.Contains(path, meetingsFolder) {
				spoiled += spoilCounts(t, path)
			}
		}
		if spoiled == 0 {
			t.Fatal("nothing is damaged")
		}
		h.open()
		h.index.workers = workers
		_, err := h.index.Search(context.Background(), Request{Query: "the", Viewer: everyone})
		if err == nil {
			_, err = h.index.Search(context.Background(), Request{Query: "budget", Viewer: everyone})
		}
		if err != ErrDamaged {
			t.Fatalf("search with damaged counts: %v", err)
		}
		h.catchUp()
		soundly(h)
		if h.index.serving.number != 2 {
			t.Errorf("generation %d answers, want 2", h.index.serving.number)
		}
	}
}

// TestTooMuch reads a term that is said to have 4 thousand million chunks, or each
// document a thousand times: no room is made for them.
func TestTooMuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.zap")
	made := countedSegment(t, rand.New(rand.NewPCG(1, 1)), 2500)
	if err := made.(segment.UnpersistedSegment).Persist(path); err != nil {
		t.Fatal(err)
	}
	seg := openSegment(t, path)
	defer seg.Close()
	c, err := lexiconOf(seg, nil).term(fieldText, "everywhere")
	if err != nil || len(c.ends) < 2 {
		t.Fatalf("%d chunks, %v", len(c.ends), err)
	}
	raw := seg.(*zap.Segment).Data()
	number := len(raw) - cap(c.chunks) - 1
	for _, end := range c.ends {
		number -= len(binary.AppendUvarint(nil, end))
	}
	docs, err := c.docs.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	runs := []byte{0x3b, 0x30, 0, 0, 1, 0, 0, 0, 0, 1000 & 0xff, 1000 >> 8} // a thousand, of the documents below 2048
	runs = append(runs, bytes.Repeat([]byte{0, 0, 0xff, 7}, 1000)...)
	for at, with := range map[int][]byte{number: binary.AppendUvarint(nil, 1<<32), number + bytes.Index(raw[number:], docs): runs} {
		broken := bytes.Clone(raw)
		copy(broken[at:], with)
		path := filepath.Join(t.TempDir(), "broken.zap")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		tooMuch(t, path)
	}
}

func tooMuch(t *testing.T, path string) {
	seg := openSegment(t, path)
	defer seg.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := lexiconOf(seg, nil).term(fieldText, "everywhere")
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrDamaged) || made > 1<<20 {
		t.Errorf("%v, %d bytes of memory", err, made)
	}
}
