package segment

import (
	"bytes"
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
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"minutebook/internal/testrun"
)

// TestDamagedCounts breaks bytes of a segment's file, or cuts it while it is
// read. Reading a term then ends in an error, a panic that searches recover
// from, or counts, of no more documents than fit the file.
func TestDamagedCounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	path := filepath.Join(t.TempDir(), "whole.zap")
	built := buildCounted(t, rand.New(rand.NewPCG(1, 1)), 2500)
	if err := built.(segmentapi.UnpersistedSegment).Persist(path); err != nil {
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
	seg, err := (&plugin{}).Open(path)
	if err != nil {
		return
	}
	defer seg.Close()
	if seed%10 == 0 {
		if err := os.Truncate(path, int64(rnd.IntN(len(raw)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, field := range []string{FieldText, FieldTitle, FieldKeys} {
		if err := listBroken(t, seg, field); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		for _, term := range append(slices.Sorted(maps.Keys(countedWords)), "once7", "m:3", "all") {
			readBroken(t, seg, field, term, rnd, len(raw))
		}
	}
}

// listBroken lists terms of a broken file.
func listBroken(t *testing.T, seg segmentapi.Segment, field string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer RecoverDamage("list the terms of", "broken.zap", &err)
	words := newTermReader(seg, nil)
	check := func(term string, docs int) {
		if docs < 1 || docs > int(seg.Count()) {
			t.Errorf("%q is in %d of %d documents", term, docs, seg.Count())
		}
	}
	if _, err := words.Scan(field, "o", 50, nil, func(string) bool { return true }, check); err != nil {
		return err
	}
	all := roaring.New()
	all.AddRange(0, seg.Count())
	if _, err := words.Beginning(t.Context(), field, "o", all); err != nil {
		return err
	}
	return words.Terms(field, "o", 50, nil, check)
}

// readBroken reads a term of a broken file in every way there is.
func readBroken(t *testing.T, seg segmentapi.Segment, field, term string, rnd *rand.Rand, size int) {
	words := newTermReader(seg, drawDocuments(rnd, seg.Count()))
	subset := drawDocuments(rnd, seg.Count())
	left := size
	scores := make([]uint32, seg.Count())
	add := func(doc, times, _ uint32) {
		if left--; left < 0 {
			t.Fatalf("%s %q: there are more documents than bytes", field, term)
		}
		scores[doc] += times // as searches do: a panic, where there is no such document
	}
	for _, read := range []func() error{
		func() error { _, err := words.Documents(field, term); return err },
		func() error { _, err := words.Count(field, term); return err },
		func() error {
			c, err := words.Postings(field, term)
			if err == nil && field != FieldKeys {
				err = c.Each(add)
			}
			return err
		},
		func() error {
			c, err := words.Postings(field, term)
			if err == nil && field != FieldKeys {
				left = size
				err = c.EachIn(subset, add)
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

// TestRefusesHugeCounts reads a term that is said to have 4 thousand million chunks, or each
// document a thousand times: no room is made for them.
func TestRefusesHugeCounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	path := filepath.Join(t.TempDir(), "broken.zap")
	built := buildCounted(t, rand.New(rand.NewPCG(1, 1)), 2500)
	if err := built.(segmentapi.UnpersistedSegment).Persist(path); err != nil {
		t.Fatal(err)
	}
	seg := openSegment(t, path)
	defer seg.Close()
	c, err := newTermReader(seg, nil).Postings(FieldText, "everywhere")
	if err != nil || len(c.ends) < 2 {
		t.Fatalf("%d chunks, %v", len(c.ends), err)
	}
	raw := seg.(*zap.Segment).Data()
	number := len(raw) - cap(c.chunks) - 1
	for _, end := range c.ends {
		number -= len(binary.AppendUvarint(nil, end))
	}
	docs, err := c.Docs.ToBytes()
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
		checkRefused(t, path)
	}
}

func checkRefused(t *testing.T, path string) {
	seg := openSegment(t, path)
	defer seg.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := newTermReader(seg, nil).Postings(FieldText, "everywhere")
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrDamaged) || allocated > 1<<20 {
		t.Errorf("%v, %d bytes of memory", err, allocated)
	}
}
