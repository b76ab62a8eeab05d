package search

import (
	"strconv"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
)

// Names of the fields in the indexes. Those of text keep how often and among
// how many words a word occurs; keys and pairs keep only where.
const (
	fieldText       = "t" // what was said; in moments without stop words
	fieldTitle      = "h"
	fieldSummary    = "s"
	fieldHighlights = "g" // in moments: of what was noted about the moment
	fieldActions    = "a"
	fieldCRM        = "c"
	fieldPeople     = "p" // words of names; in moments of those who speak
	fieldKeys       = "k" // what filters ask for, see keys.go
	fieldPairs      = "q" // hashes of neighbouring words, for phrases
	fieldRecord     = "r" // what counting and ordering need, see record.go
)

// prepared is an analyzer whose work is done: it returns the tokens it was
// made of, whatever text it is given. It lets this package cut words its own
// way and Bleve keep them.
type prepared analysis.TokenStream

// Analyze returns the prepared tokens.
func (p prepared) Analyze([]byte) analysis.TokenStream { return analysis.TokenStream(p) }

func stream(terms []string) prepared {
	tokens := make([]analysis.Token, len(terms))
	out := make(prepared, len(terms))
	for i, t := range terms {
		tokens[i] = analysis.Token{Term: []byte(t), Position: i + 1}
		out[i] = &tokens[i]
	}
	return out
}

func addText(d *document.Document, field string, terms []string) {
	if len(terms) > 0 {
		d.AddField(document.NewTextFieldCustom(field, nil, nil, index.IndexField, stream(terms)))
	}
}

func addKeys(d *document.Document, field string, terms []string) {
	if len(terms) > 0 {
		d.AddField(document.NewTextFieldCustom(field, nil, nil, index.IndexField|index.SkipFreqNorm, stream(terms)))
	}
}

func addRecord(d *document.Document, record []byte) {
	d.AddField(document.NewTextFieldWithIndexingOptions(fieldRecord, nil, record, index.StoreField))
}

// meetingDocument is the meeting as one document.
func meetingDocument(s *source, langs *languages) *document.Document {
	d := document.NewDocument(strconv.FormatInt(s.row.RecordingID, 10))
	lang := langs.get(baseCode(s.row.Language))
	keys := meetingKeys(s)
	var said []string
	for _, e := range s.entries {
		said = appendTerms(said, tokenize(e.Text), lang, nil)
	}
	addText(d, fieldText, said)
	pairs := map[string]bool{}
	for _, field := range []string{fieldTitle, fieldSummary, fieldHighlights, fieldActions, fieldCRM} {
		tokens := tokenize(s.part(field))
		addText(d, field, appendTerms(nil, tokens, lang, nil))
		addPairs(pairs, field, tokens)
	}
	addText(d, fieldPeople, nameWords(s.people()))
	addKeys(d, fieldPairs, setOf(pairs))
	addKeys(d, fieldKeys, keys)
	addRecord(d, recordOf(s, len(said)).encode())
	return d
}

func (s *source) highlights() string {
	var all string
	for _, h := range s.meeting.Highlights.Or(nil) {
		all += highlightText(h) + "\n"
	}
	return all
}

func (s *source) actions() string {
	var all string
	for _, a := range s.meeting.ActionItems.Or(nil) {
		all += actionText(a) + "\n"
	}
	return all
}

// appendTerms adds the terms of tokens, leaving out the given words, and the
// stems of a language whose stems must be indexed.
func appendTerms(terms []string, tokens []tok, lang *language, without map[string]bool) []string {
	for _, t := range tokens {
		if without[t.term] {
			continue
		}
		terms = append(terms, t.term)
		if lang.stemsPrefixes() {
			if stem := lang.stem(t.term); stem != t.term {
				terms = append(terms, stemTerm(stem))
			}
		}
	}
	return terms
}

func nameWords(people []person) []string {
	seen := map[string]bool{}
	for _, p := range people {
		for _, t := range tokenize(p.name) {
			seen[t.term] = true
		}
	}
	return setOf(seen)
}

func setOf(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	return out
}
