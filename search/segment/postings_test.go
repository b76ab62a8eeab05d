package segment

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
)

// countedWords are in so great a share of the documents that countedSegment
// makes: some fill several chunks, and some documents have a word so often, or
// are so long, that a count takes two bytes.
var countedWords = map[string]float64{"everywhere": 1, "often": 0.7, "half": 0.5, "sometimes": 0.2, "seldom": 0.01, "rarely": 0.002}

// buildCounted makes a segment in memory of so many documents.
func buildCounted(t interface{ Fatal(...any) }, rnd *rand.Rand, documents int) segmentapi.Segment {
	v := NewBuilder(NewVocabulary())
	var docs []index.Document
	late := rnd.IntN(documents) // where half begins: its first chunks are empty
	for i := range documents {
		v.Begin(fmt.Sprintf("%d:0:1", i), nil)
		for _, field := range []string{FieldText, FieldTitle} {
			words := []string{fmt.Sprint("once", i%700)}
			for word, share := range countedWords {
				if rnd.Float64() >= share || word == "half" && i < late {
					continue
				}
				times := 1 + rnd.IntN(3)
				if rnd.IntN(50) == 0 {
					times = 1 + rnd.IntN(300)
				}
				for range times {
					words = append(words, word)
				}
			}
			v.AddWords(field, v.Words.Numbers(words))
		}
		v.AddKeys(FieldKeys, []string{fmt.Sprint("m:", i/60), "all"})
		docs = append(docs, document.NewDocument(v.docs[i].id).AddField(&builderField{v}))
	}
	seg, _, err := (&plugin{}).New(docs)
	if err != nil {
		t.Fatal(err)
	}
	return seg
}

// drawDocuments returns a random set of a segment's documents.
func drawDocuments(rnd *rand.Rand, documents uint64) *roaring.Bitmap {
	share := []float64{0, 0.001, 0.02, 0.5, 1}[rnd.IntN(5)]
	subset := roaring.New()
	for doc := range documents {
		if rnd.Float64() < share {
			subset.Add(uint32(doc))
		}
	}
	return subset
}

// checkCounts compares the postings of every term of a segment with those that Bleve
// reads.
func checkCounts(t *rapid.T, what string, seg segmentapi.Segment, rnd *rand.Rand) {
	gone, subset := drawDocuments(rnd, seg.Count()), drawDocuments(rnd, seg.Count())
	words := newTermReader(seg, gone)
	for _, field := range []string{FieldText, FieldTitle, FieldKeys, FieldSummary, "no such field"} {
		dict, err := seg.Dictionary(field)
		if err != nil {
			t.Fatal(err)
		}
		terms := []string{"", "no such term", "oft", "oftener"}
		for it := dict.AutomatonIterator(nil, nil, nil); ; {
			e, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			terms = append(terms, e.Term)
		}
		listed := map[string]int{}
		if err := words.Terms(field, "", 1<<20, nil, func(term string, docs int) { listed[term] = docs }); err != nil {
			t.Fatal(err)
		}
		among := map[string]int{}
		if err := words.Terms(field, "", 1<<20, subset, func(term string, docs int) { among[term] = docs }); err != nil {
			t.Fatal(err)
		}
		all := roaring.New()
		all.AddRange(0, seg.Count())
		checkScan(t, what, words, field, nil, all, listed)
		checkScan(t, what, words, field, subset, subset, among)
		for _, term := range terms {
			if n, err := words.CountIn(field, term, subset); err != nil || n != among[term] {
				t.Fatalf("%s: %s %q is listed with %d of some documents, want %d, %v", what, field, term, among[term], n, err)
			}
			checkTerm(t, fmt.Sprintf("%s: %s %q", what, field, term), words, dict, field, term, subset, listed[term])
		}
	}
}

// checkScan compares the terms that a scan among some documents visits with those that are
// listed of them, and the documents of a beginning with those of its terms.
func checkScan(t *rapid.T, what string, words *TermReader, field string, among, documents *roaring.Bitmap, listed map[string]int) {
	prefix, most := rapid.SampledFrom([]string{"", "o", "oft", "z"}).Draw(t, "prefix"), rapid.IntRange(0, 20).Draw(t, "most")
	isEven := func(term string) bool { return len(term)%2 == 0 }
	want, seen, begin := map[string]int{}, 0, roaring.New()
	for _, term := range slices.Sorted(maps.Keys(listed)) {
		if !strings.HasPrefix(term, prefix) {
			continue
		}
		c, err := words.Postings(field, term)
		if err != nil {
			t.Fatal(err)
		}
		begin.Or(c.Docs)
		if seen++; seen <= most && isEven(term) {
			want[term] = listed[term]
		}
	}
	got := map[string]int{}
	isCut, err := words.Scan(field, prefix, most, among, isEven, func(term string, docs int) { got[term] = docs })
	if err != nil || !maps.Equal(got, want) || isCut != (seen > most) {
		t.Fatalf("%s: a scan of %s for %q visits %v (is cut %v), want %v, %v", what, field, prefix, got, isCut, want, err)
	}
	begin.And(documents)
	if found, err := words.Beginning(t.Context(), field, prefix, documents); err != nil || !found.Equals(begin) {
		t.Fatalf("%s: %s with words of %q are %v, want %v, %v", what, field, prefix, found, begin, err)
	}
}

func checkTerm(t *rapid.T, what string, words *TermReader, dict segmentapi.TermDictionary, field, term string, subset *roaring.Bitmap, listed int) {
	list, err := dict.PostingsList([]byte(term), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	type line struct{ Doc, Times, Length uint32 }
	var all, filtered, got, gotAmong []line
	living, docs := roaring.New(), roaring.New()
	for it := list.Iterator(true, true, false, nil); ; {
		p, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			break
		}
		l := line{uint32(p.Number()), uint32(p.Frequency()), uint32(1/(p.Norm()*p.Norm()) + 0.5)}
		all = append(all, l)
		docs.Add(l.Doc)
		if subset.Contains(l.Doc) {
			filtered = append(filtered, l)
		}
		if !words.deleted.Contains(l.Doc) {
			living.Add(l.Doc)
		}
	}
	found, err := words.Documents(field, term)
	if err != nil || !found.Equals(living) {
		t.Fatalf("%s: documents %v %v, want %v", what, found, err, living)
	}
	if n, err := words.Count(field, term); err != nil || n != int(living.GetCardinality()) {
		t.Fatalf("%s: in %d documents %v, want %d", what, n, err, living.GetCardinality())
	}
	if listed != int(docs.GetCardinality()) {
		t.Fatalf("%s: is listed with %d documents, want %d", what, listed, docs.GetCardinality())
	}
	if n, err := words.CountIn(field, term, subset); err != nil || n != int(docs.AndCardinality(subset)) {
		t.Fatalf("%s: in %d of some documents %v, want %d", what, n, err, docs.AndCardinality(subset))
	}
	if field == FieldKeys {
		return
	}
	c, err := words.Postings(field, term)
	if err == nil {
		err = c.Each(func(doc, times, length uint32) { got = append(got, line{doc, times, length}) })
	}
	if err == nil {
		err = c.EachIn(subset, func(doc, times, length uint32) { gotAmong = append(gotAmong, line{doc, times, length}) })
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Fatalf("%s: Bleve's (-) and ours (+) of all differ:\n%s", what, diff)
	}
	if diff := cmp.Diff(filtered, gotAmong); diff != "" {
		t.Fatalf("%s: Bleve's (-) and ours (+) of some differ:\n%s", what, diff)
	}
	if c.Docs != nil && !c.Docs.Equals(docs) {
		t.Fatalf("%s: the documents were changed", what)
	}
}

// TestCountsAreBleves compares documents and counts of every term with those that
// Bleve reads, in memory, from a file, and merged with documents left out.
func TestCountsAreBleves(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := func(what string) string { return filepath.Join(dir, fmt.Sprintf("%s%d.zap", what, n)) }
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var inFiles []segmentapi.Segment
		var drops []*roaring.Bitmap
		for i := range 2 {
			seg := buildCounted(t, rnd, rapid.SampledFrom([]int{1, 2, 60, 1024, 1025, 3000}).Draw(t, "documents"))
			if i == 0 {
				checkCounts(t, "in memory", seg, rnd)
			}
			file := path(fmt.Sprint("file", i, "-"))
			if err := seg.(segmentapi.UnpersistedSegment).Persist(file); err != nil {
				t.Fatal(err)
			}
			opened := openSegment(t, file)
			defer opened.Close()
			checkCounts(t, "in a file", opened, rnd)
			inFiles, drops = append(inFiles, opened), append(drops, drawDocuments(rnd, seg.Count()))
		}
		drops[1].Remove(0) // something is left
		if _, _, err := (&plugin{}).Merge(inFiles, drops, path("merged"), nil, nil); err != nil {
			t.Fatal(err)
		}
		merged := openSegment(t, path("merged"))
		defer merged.Close()
		checkCounts(t, "merged", merged, rnd)
	})
}

// openSegment opens a file that is read directly.
func openSegment(t interface{ Fatal(...any) }, path string) segmentapi.Segment {
	seg, err := (&plugin{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if newTermReader(seg, nil).file == nil {
		t.Fatal("a segment in a file is not read as one")
	}
	return seg
}
