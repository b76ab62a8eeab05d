package text

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	// Stop words and stemmers register themselves under their language's code.
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/bg"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ca"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/cs"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/el"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/eu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fa"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ga"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/gl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hy"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/id"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ro"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/registry"
)

// Language has the stop words of a language, folded, and its stemmer. Either may be
// missing.
type Language struct {
	Code      string
	StopWords map[string]bool
	analyzer  analysis.Analyzer
}

// Languages hands out languages by code. It loads each once.
type Languages struct {
	mu     sync.Mutex // guards both
	cache  *registry.Cache
	loaded map[string]*Language
}

// NewLanguages returns a cache without languages.
func NewLanguages() *Languages {
	return &Languages{cache: registry.NewCache(), loaded: map[string]*Language{}}
}

// BaseCode returns the code that [Languages.Get] knows of a transcript_language: "pt"
// of "pt-BR", "" of an empty or unknown one.
func BaseCode(code string) string {
	code = strings.ToLower(strings.TrimSpace(code))
	if i := strings.IndexAny(code, "-_"); i >= 0 {
		code = code[:i]
	}
	switch code {
	case "unknown", "und", "auto":
		return ""
	case "nb", "nn":
		return "no"
	}
	return code
}

// Get returns the language of a base code. One that Bleve does not have comes without
// stop words and stemmer.
func (l *Languages) Get(code string) *Language {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lang, ok := l.loaded[code]; ok {
		return lang
	}
	lang := &Language{Code: code, StopWords: map[string]bool{}}
	if code != "" {
		if words, err := l.cache.TokenMapNamed("stop_" + code); err == nil {
			for w := range words {
				for _, t := range Tokenize(w) {
					lang.StopWords[t.Term] = true
				}
			}
		}
		if a, err := l.cache.AnalyzerNamed(code); err == nil && len(code) == 2 || err == nil && code == "ckb" {
			lang.analyzer = a
		}
	}
	l.loaded[code] = lang
	return lang
}

// HasStemmer reports whether the language has a stemmer.
func (l *Language) HasStemmer() bool { return l.analyzer != nil }

// Stem returns the stem of a folded word, or the word where the language has
// no stemmer.
func (l *Language) Stem(term string) (stem string) {
	if l.analyzer == nil {
		return term
	}
	defer func() {
		if p := recover(); p != nil {
			stem = term // a stemmer that trips over a strange word leaves it as it is
		}
	}()
	out := l.analyzer.Analyze([]byte(term))
	if len(out) != 1 || len(out[0].Term) == 0 {
		return term
	}
	return string(out[0].Term)
}

// DropsPrefixes reports whether the language's stems drop beginnings too, so that the
// forms of a word do not share theirs.
func (l *Language) DropsPrefixes() bool { return l.Code == "ar" || l.Code == "ckb" || l.Code == "fa" }

// stemMark begins the terms of stems. No word's own form begins with that byte.
const stemMark = "\x01"

// StemTerm is the term under which a stem is indexed for such a language.
func StemTerm(stem string) string { return stemMark + stem }

// IsStemTerm reports whether a term is one of StemTerm.
func IsStemTerm(term string) bool { return strings.HasPrefix(term, stemMark) }
