package segment

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
	"minutebook/search/text"
)

// analysedField is a field as Bleve would have analysed it.
type analysedField struct {
	builderField
	name    string
	options index.FieldIndexingOptions
	value   []byte
	length  int
	counts  index.TokenFrequencies
}

func (f *analysedField) Name() string                                     { return f.name }
func (f *analysedField) Options() index.FieldIndexingOptions              { return f.options }
func (f *analysedField) Value() []byte                                    { return f.value }
func (f *analysedField) AnalyzedLength() int                              { return f.length }
func (f *analysedField) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.counts }

// analysedDocuments returns the documents of a builder as Bleve would analyse them.
func analysedDocuments(v *Builder) []index.Document {
	docs := make([]index.Document, len(v.docs))
	count := func(all []occurrence, doc int, term func(o occurrence) string, once bool) index.TokenFrequencies {
		counts := index.TokenFrequencies{}
		for _, o := range all {
			if int(o.doc) != doc {
				continue
			}
			c := counts[term(o)]
			if c == nil {
				c = &index.TokenFreq{}
				counts[term(o)] = c
			}
			if !once {
				c.SetFrequency(c.Frequency() + 1)
			}
		}
		return counts
	}
	for i, d := range v.docs {
		doc := document.NewDocument(d.id)
		for _, f := range fieldSpecs()[1:] {
			field := &analysedField{name: f.name, options: f.options, length: 1}
			switch f.name {
			case FieldRecord:
				field.value = d.record
			case FieldPairs:
				field.counts = index.TokenFrequencies{}
				for tag, all := range v.pairs {
					found := count(all, i, func(o occurrence) string { return PairTerm(tag, v.Words.terms[o.a], v.Words.terms[o.b]) }, true)
					field.counts.MergeAll(f.name, found)
				}
			default:
				field.counts = count(v.singles[f.name], i, func(o occurrence) string { return v.Words.terms[o.a] }, f.name == FieldKeys)
				if l := v.lengths[f.name]; i < len(l) {
					field.length = int(l[i])
				}
			}
			if f.name != FieldRecord || d.record != nil {
				doc.AddField(field)
			}
		}
		doc.AddField(&analysedField{name: idField, options: index.IndexField | index.StoreField, value: []byte(d.id), length: 1,
			counts: count([]occurrence{{doc: uint32(i)}}, i, func(occurrence) string { return d.id }, false)})
		docs[i] = doc
	}
	return docs
}

// listContents lists everything that a segment holds.
func listContents(t interface{ Fatal(...any) }, seg segmentapi.Segment) []string {
	var out []string
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for doc := range seg.Count() {
		id, err := seg.DocID(doc)
		check(err)
		out = append(out, fmt.Sprintf("document %d %q", doc, id))
		check(seg.VisitStoredFields(doc, func(field string, typ byte, value []byte, pos []uint64) bool {
			out = append(out, fmt.Sprintf("stored %s %c %x", field, typ, value))
			return true
		}))
	}
	for _, field := range seg.Fields() {
		dict, err := seg.Dictionary(field)
		check(err)
		it := dict.AutomatonIterator(nil, nil, nil)
		for {
			e, err := it.Next()
			check(err)
			if e == nil {
				break
			}
			list, err := dict.PostingsList([]byte(e.Term), nil, nil)
			check(err)
			line := fmt.Sprintf("%s %q:", field, e.Term)
			for ps := list.Iterator(true, true, false, nil); ; {
				p, err := ps.Next()
				check(err)
				if p == nil {
					break
				}
				line += fmt.Sprintf(" %d×%d/%.4f", p.Number(), p.Frequency(), p.Norm())
			}
			out = append(out, line)
		}
	}
	return out
}

// drawWords is a random text of few words, so that documents share them.
func drawWords(t *rapid.T, name string) string {
	words := strings.Fields("budget budgets contract release printing market marketing e-mail ABC-123 Zoë the and of we renew renewed Friday page numbers بالكتاب")
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 25).Draw(t, name), " ")
}

// drawBuilder gathers random documents, or enough of one word for its list to fill
// more than one chunk.
func drawBuilder(t *rapid.T) *Builder {
	v := NewBuilder(NewVocabulary())
	if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
		for i := range 2500 {
			v.Begin(fmt.Sprintf("%d:0:1", i), nil)
			v.AddWords(FieldText, v.Words.Numbers([]string{"often", fmt.Sprint("rare", i%1100)}))
			v.AddKeys(FieldKeys, []string{"m:" + fmt.Sprint(i/60)})
		}
		return v
	}
	lang := text.NewLanguages().Get(rapid.SampledFrom([]string{"en", "", "ar"}).Draw(t, "language"))
	for i := range rapid.IntRange(1, 12).Draw(t, "documents") {
		var record []byte
		if rapid.Bool().Draw(t, "recorded") {
			record = []byte(drawWords(t, "record"))
		}
		v.Begin(fmt.Sprint(i), record)
		for _, field := range []string{FieldText, FieldTitle, FieldSummary, FieldHighlights, FieldActions, FieldCRM} {
			tokens := v.Words.Tokenize(drawWords(t, field))
			v.AddWords(field, v.Words.AppendWords(nil, tokens, lang, map[string]bool{"the": field == FieldText}))
			v.AddPairs(field, tokens)
		}
		v.AddWords(FieldPeople, v.Words.Numbers([]string{"anna", "lee"}))
		v.AddKeys(FieldKeys, []string{"m:" + fmt.Sprint(i), "sp:anna"})
	}
	return v
}

// TestSegmentIsBleves compares segments of random documents with the segments that
// Bleve writes of the same documents: in memory, read from a file, and merged with
// documents left out.
func TestSegmentIsBleves(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		v := drawBuilder(t)
		if len(v.docs) == 0 {
			return
		}
		var docs []index.Document
		for _, d := range v.docs {
			doc := document.NewDocument(d.id)
			docs = append(docs, doc.AddField(&builderField{v}))
		}
		ours, _, err := (&plugin{}).New(docs)
		if err != nil {
			t.Fatal(err)
		}
		theirs, _, err := (&zap.ZapPlugin{}).New(analysedDocuments(v))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listContents(t, theirs), listContents(t, ours)); diff != "" {
			t.Fatalf("Bleve's (-) and ours (+) differ:\n%s", diff)
		}
		n++
		path := func(what string) string { return filepath.Join(dir, fmt.Sprintf("%s%d.zap", what, n)) }
		if err := ours.(segmentapi.UnpersistedSegment).Persist(path("ours")); err != nil {
			t.Fatal(err)
		}
		opened, err := (&plugin{}).Open(path("ours"))
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		if diff := cmp.Diff(listContents(t, theirs), listContents(t, opened)); diff != "" {
			t.Fatalf("Bleve's (-) and ours in a file (+) differ:\n%s", diff)
		}
		if err := CheckFile(t.Context(), path("ours")); err != nil {
			t.Fatal(err)
		}
		merged := func(what string, seg segmentapi.Segment) []string {
			_, _, err := (&plugin{}).Merge([]segmentapi.Segment{seg, seg}, []*roaring.Bitmap{roaring.BitmapOf(0), nil}, path(what), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := (&plugin{}).Open(path(what))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			return listContents(t, m)
		}
		if diff := cmp.Diff(merged("theirs", theirs), merged("merged", opened)); diff != "" {
			t.Fatalf("merged, Bleve's (-) and ours (+) differ:\n%s", diff)
		}
	})
}
