package search

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
)

// plainField is a field as Bleve would have analysed it.
type plainField struct {
	held
	name    string
	options index.FieldIndexingOptions
	value   []byte
	length  int
	counts  index.TokenFrequencies
}

func (f *plainField) Name() string                                     { return f.name }
func (f *plainField) Options() index.FieldIndexingOptions              { return f.options }
func (f *plainField) Value() []byte                                    { return f.value }
func (f *plainField) AnalyzedLength() int                              { return f.length }
func (f *plainField) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.counts }

// plainDocuments are the documents of an inverter as Bleve would see them.
func plainDocuments(v *inverter) []index.Document {
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
		for _, f := range segmentFields()[1:] {
			field := &plainField{name: f.name, options: f.options, length: 1}
			switch f.name {
			case fieldRecord:
				field.value = d.record
			case fieldPairs:
				field.counts = index.TokenFrequencies{}
				for tag, all := range v.pairs {
					found := count(all, i, func(o occurrence) string { return pairTerm(tag, v.words.terms[o.a], v.words.terms[o.b]) }, true)
					field.counts.MergeAll(f.name, found)
				}
			default:
				field.counts = count(v.singles[f.name], i, func(o occurrence) string { return v.words.terms[o.a] }, f.name == fieldKeys)
				if l := v.lengths[f.name]; i < len(l) {
					field.length = int(l[i])
				}
			}
			if f.name != fieldRecord || d.record != nil {
				doc.AddField(field)
			}
		}
		doc.AddField(&plainField{name: idField, options: index.IndexField | index.StoreField, value: []byte(d.id), length: 1,
			counts: count([]occurrence{{doc: uint32(i)}}, i, func(occurrence) string { return d.id }, false)})
		docs[i] = doc
	}
	return docs
}

// contents is everything that a segment holds.
func contents(t interface{ Fatal(...any) }, seg segment.Segment) []string {
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

// drawSource is a random meeting as read from an archive.
func drawSource(t *rapid.T, id int64) *source {
	s := &source{row: &archive.Row{RecordingID: id, Language: rapid.SampledFrom([]string{"en", "", "ar"}).Draw(t, "language")}, meeting: &api.Meeting{Title: drawText(t, "title")}}
	s.meeting.DefaultSummary = api.Some(api.Summary{MarkdownFormatted: api.Some(drawText(t, "summary"))})
	for i := range rapid.IntRange(0, 12).Draw(t, "entries") {
		s.entries = append(s.entries, archive.Entry{Index: i, Offset: time.Duration(i) * 25 * time.Second, Text: drawText(t, "text"),
			Speaker: rapid.SampledFrom([]string{"Anna Lee", "Bob Stone"}).Draw(t, "speaker"), Email: "someone@own.example"})
	}
	return s
}

// drawInverter gathers random meetings, or enough of one word for its list to
// fill more than one chunk.
func drawInverter(t *rapid.T) *inverter {
	v := newInverter(newVocabulary())
	langs := newLanguages()
	if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
		for i := range 2500 {
			v.begin(fmt.Sprintf("%d:0:1", i), nil)
			v.addText(fieldText, v.words.numbersOf([]string{"often", fmt.Sprint("rare", i%1100)}))
			v.addKeys(fieldKeys, []string{"m:" + fmt.Sprint(i/60)})
		}
		return v
	}
	moments := rapid.Bool().Draw(t, "moments")
	for i := range rapid.IntRange(1, 5).Draw(t, "meetings") {
		s := drawSource(t, int64(i))
		var tokens [][]tok
		for _, e := range s.entries {
			tokens = append(tokens, v.words.tokenize(e.Text))
		}
		if moments {
			v.addMoments(s, tokens, langs)
			continue
		}
		v.addMeeting(s, tokens, langs)
	}
	return v
}

// TestSegmentIsBleves writes segments of random documents and compares all that
// they hold with what Bleve's own writing makes of the same, at once, from a
// file, and merged with documents left out.
func TestSegmentIsBleves(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		v := drawInverter(t)
		if len(v.docs) == 0 {
			return
		}
		var docs []index.Document
		for _, d := range v.docs {
			doc := document.NewDocument(d.id)
			docs = append(docs, doc.AddField(&held{v}))
		}
		ours, _, err := (&segmentPlugin{}).New(docs)
		if err != nil {
			t.Fatal(err)
		}
		theirs, _, err := (&zap.ZapPlugin{}).New(plainDocuments(v))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, theirs), contents(t, ours)); diff != "" {
			t.Fatalf("Bleve's (-) and ours (+) differ:\n%s", diff)
		}
		n++
		path := func(what string) string { return filepath.Join(dir, fmt.Sprintf("%s%d.zap", what, n)) }
		if err := ours.(segment.UnpersistedSegment).Persist(path("ours")); err != nil {
			t.Fatal(err)
		}
		opened, err := (&segmentPlugin{}).Open(path("ours"))
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		if diff := cmp.Diff(contents(t, theirs), contents(t, opened)); diff != "" {
			t.Fatalf("Bleve's (-) and ours in a file (+) differ:\n%s", diff)
		}
		if err := checkFile(t.Context(), path("ours")); err != nil {
			t.Fatal(err)
		}
		merged := func(what string, seg segment.Segment) []string {
			_, _, err := (&segmentPlugin{}).Merge([]segment.Segment{seg, seg}, []*roaring.Bitmap{roaring.BitmapOf(0), nil}, path(what), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := (&segmentPlugin{}).Open(path(what))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			return contents(t, m)
		}
		if diff := cmp.Diff(merged("theirs", theirs), merged("merged", opened)); diff != "" {
			t.Fatalf("merged, Bleve's (-) and ours (+) differ:\n%s", diff)
		}
	})
}
