package segment

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	segmentapi "github.com/blevesearch/scorch_segment_api/v2"

	"minutebook/internal/testrun"
)

// FuzzSegmentFile opens any bytes as a segment's file, as an index that was damaged or
// copied from elsewhere has it, and reads terms. Searches recover from panics; a file
// must not hold them up, take memory beyond its size, or end the program.
func FuzzSegmentFile(f *testing.F) {
	testrun.SkipUnderRace(f)
	built := buildCounted(f, rand.New(rand.NewPCG(1, 1)), 3)
	path := filepath.Join(f.TempDir(), "whole.zap")
	if err := built.(segmentapi.UnpersistedSegment).Persist(path); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{})
	// One file for all inputs: the mapping of the last one is closed before.
	path = filepath.Join(f.TempDir(), "segment.zap")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		seg, err := (&plugin{}).Open(path)
		if err != nil {
			return
		}
		defer seg.Close()
		if seg.Count() > uint64(len(raw)) {
			t.Fatalf("%d bytes are said to have %d documents", len(raw), seg.Count())
		}
		for _, field := range []string{FieldText, FieldKeys, ""} {
			for _, term := range []string{"everywhere", "once1", "all", ""} {
				if err := readTerm(seg, field, term, len(raw)); err != nil && !errors.Is(err, ErrDamaged) {
					t.Errorf("%s %q: %v", field, term, err)
				}
			}
		}
	})
}

// readTerm reads a term's documents and counts, as searches do.
func readTerm(seg segmentapi.Segment, field, term string, most int) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer RecoverDamage("search in the", "segment.zap", &err)
	words := newTermReader(seg, nil)
	docs, err := words.Documents(field, term)
	if err != nil {
		return err
	}
	postings, err := words.Postings(field, term)
	if err != nil {
		return err
	}
	scores := make([]uint32, seg.Count())
	add := func(doc, times, _ uint32) {
		if most--; most < -cap(scores) {
			err = errors.New("there are more counts than bytes")
		}
		scores[doc] += times
	}
	if field == FieldKeys {
		return nil
	}
	return errors.Join(postings.Each(add), postings.EachIn(docs, add), err)
}
