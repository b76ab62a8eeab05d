package search

import (
	"slices"
	"strings"

	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// plan is how a query is looked up: its terms in their order, and the place of
// each. It is made before anything is looked for and does not change.
type plan struct {
	terms    []*queryTerm
	scope    scope // of the query's outermost group
	question bool  // it reads like plain English
}

// queryTerm is a word or a phrase of the query: either word or phrase is set.
type queryTerm struct {
	node    query.Node
	word    wordKey
	phrase  []string // two terms or more that follow one another, see [text.Sequence.FindPhrase]
	name    string   // the phrase as it stands among the names of people
	run     bool     // the phrase is one word of a script without spaces
	scope   scope
	negated bool // it stands under a minus
	filter  bool // it is the value of a filter, and ranks nothing
	stop    bool // a stop word: it counts only where its part of the query has nothing else
	asks    bool // it is about the answer, such as "summarize", and counts little
}

// wordKey is a folded word and how its variants are found.
type wordKey struct {
	term   string
	prefix bool
	fuzzy  bool
}

// isBeginning reports whether words are meant that begin like the term.
func (k wordKey) isBeginning() bool {
	return !k.fuzzy && (k.prefix || text.IsUnspacedCharacter(k.term))
}

// scope narrows where the terms of a group are looked for.
type scope struct {
	fields   []string // nil means everywhere
	speakers []speaker
}

// speaker is a value of speaker:, or its alternatives, with other names of the same persons,
// and the keys of the speakers that they may stand for in moments. All speakers of a scope
// must speak in a moment.
type speaker struct {
	names []string
	keys  []string
}

// allTextFields are the fields of meetings that words are looked for in.
func allTextFields() []string {
	return []string{segment.FieldText, segment.FieldTitle, segment.FieldSummary, segment.FieldHighlights,
		segment.FieldActions, segment.FieldCRM, segment.FieldPeople}
}

// termScope returns the scope of a term: only words that are looked for in the transcript must be
// said by its speakers.
func (in scope) termScope() scope {
	if len(in.fields) > 0 && !slices.Contains(in.fields, segment.FieldText) {
		in.speakers = nil
	}
	return in
}

// unsaidFields are the fields in which a term need not be said by the scope's speakers. Without
// speakers these are all fields of the scope; with speakers those that the scope names, but for
// the transcript.
func (in scope) unsaidFields() []string {
	if len(in.speakers) == 0 {
		return in.textFields()
	}
	return slices.DeleteFunc(slices.Clone(in.fields), func(field string) bool { return field == segment.FieldText })
}

// textFields are the fields of the scope.
func (in scope) textFields() []string {
	if len(in.fields) > 0 {
		return in.fields
	}
	return allTextFields()
}

// partField is the field of a value of in:.
func partField(part string) string {
	switch part {
	case "transcript":
		return segment.FieldText
	case "summary":
		return segment.FieldSummary
	case "actions":
		return segment.FieldActions
	case "highlights":
		return segment.FieldHighlights
	case "title":
		return segment.FieldTitle
	}
	return segment.FieldCRM
}

// planQuery makes the plan of a tree. Stop words are marked as such where the query
// has something else to look for.
func (s *snapshot) planQuery(root query.Node) (*plan, error) {
	p := &plan{question: !s.whole && query.IsQuestion(root)}
	var err error
	if p.scope, err = s.narrow(scope{}, root); err != nil {
		return nil, err
	}
	if and, ok := root.(*query.And); ok {
		err = s.addEach(p, and.Kids, p.scope, false)
	} else {
		err = s.addTerms(p, root, scope{}, false)
	}
	if err != nil {
		return nil, err
	}
	stop := s.stopWords(root)
	for _, t := range p.terms {
		if w, ok := t.node.(*query.Word); ok {
			t.stop = stop[t.word.term] && !w.Prefix && !w.Fuzzy && !t.negated
		}
		t.asks = p.question && query.IsAskingWord(t.word.term)
	}
	p.wantStopWords(root)
	query.Walk(root, false, func(n query.Node, _ bool) {
		switch n := n.(type) {
		case *query.Or:
			for _, kid := range n.Kids {
				p.wantStopWords(kid)
			}
		case *query.Not:
			p.wantStopWords(n.Kid)
		}
	})
	return p, nil
}

// wantStopWords has the stop words of a part of the tree looked for where it has nothing else:
// else an alternative of one word, such as "it", would hold for every meeting.
func (p *plan) wantStopWords(part query.Node) {
	below := map[query.Node]bool{}
	query.Walk(part, false, func(n query.Node, _ bool) { below[n] = true })
	isContent := func(t *queryTerm) bool { return below[t.node] && !t.stop && !t.negated && !t.filter }
	if slices.ContainsFunc(p.terms, isContent) {
		return
	}
	for _, t := range p.terms {
		t.stop = t.stop && !below[t.node]
	}
}

// addTerms adds the terms of a part of the tree, which stands in a scope.
func (s *snapshot) addTerms(p *plan, n query.Node, in scope, negated bool) error {
	add := func(t *queryTerm) {
		if t != nil {
			t.node, t.scope, t.negated = n, in.termScope(), negated
			p.terms = append(p.terms, t)
		}
	}
	switch n := n.(type) {
	case *query.And:
		in, err := s.narrow(in, n)
		if err != nil {
			return err
		}
		return s.addEach(p, n.Kids, in, negated)
	case *query.Or:
		return s.addEach(p, n.Kids, in, negated)
	case *query.Not:
		return s.addTerms(p, n.Kid, in, !negated)
	case *query.Word:
		t := newTerm(n.Text, n.Prefix)
		if t != nil {
			t.word.fuzzy = n.Fuzzy
		}
		add(t)
	case *query.Phrase:
		add(newTerm(n.Text, false))
	case *query.Filter:
		if n.Field == "title" {
			in = scope{fields: []string{segment.FieldTitle}}
			title, isBeginning := strings.CutSuffix(n.Value, "*")
			t := newTerm(title, isBeginning)
			if t != nil {
				t.filter = true
			}
			add(t)
		}
	}
	return nil
}

func (s *snapshot) addEach(p *plan, kids []query.Node, in scope, negated bool) error {
	for _, kid := range kids {
		if err := s.addTerms(p, kid, in, negated); err != nil {
			return err
		}
	}
	return nil
}

// narrow adds the filters in: and speaker: of a group to a scope. Alternatives of one field
// are one filter.
func (s *snapshot) narrow(in scope, group query.Node) (scope, error) {
	kids := []query.Node{group}
	if and, ok := group.(*query.And); ok {
		kids = and.Kids
	}
	in.fields, in.speakers = slices.Clone(in.fields), slices.Clone(in.speakers)
	for _, kid := range kids {
		field, values := query.ValuesOf(kid)
		switch field {
		case "in":
			for _, part := range values {
				in.fields = append(in.fields, partField(part))
			}
		case "speaker":
			by, err := s.speakerOf(values)
			if err != nil {
				return in, err
			}
			in.speakers = append(in.speakers, by)
		}
	}
	return in, nil
}

// speakerOf returns who is meant by one or the other value of speaker:.
func (s *snapshot) speakerOf(values []string) (by speaker, err error) {
	for _, value := range values {
		names, err := s.namesOf(value)
		if err != nil {
			return by, err
		}
		for _, name := range names {
			if slices.Contains(by.names, name) {
				continue
			}
			keys, err := s.speakerKeys(name)
			if err != nil {
				return by, err
			}
			by.names, by.keys = append(by.names, name), append(by.keys, keys...)
		}
	}
	return by, nil
}

// newTerm makes the term for words that must follow one another, the last of which may be
// the beginning of one; nil when there is nothing in them to look for, such as "&".
func newTerm(words string, isBeginning bool) *queryTerm {
	switch terms := text.PhraseTerms(words); len(terms) {
	case 0:
		return nil
	case 1:
		return &queryTerm{word: wordKey{term: terms[0], prefix: isBeginning}}
	default:
		t := &queryTerm{phrase: terms, name: strings.TrimRight(words, "*"), run: text.IsUnspacedWord(words)}
		if last := terms[len(terms)-1]; isBeginning && !text.IsUnspacedWord(last) { // which is found in any run anyway
			terms[len(terms)-1], t.name = last+"*", t.name+"*"
		}
		return t
	}
}

// A query is read in a language that at least one of goodPart meetings is in, or of which it has
// ownWords: a stop word of a few meetings' language, such as the German "hat", is a word in all others.
const (
	goodPart = 4
	ownWords = 3
)

// stopWords are those of the language that most of the query's words are stop words of, among
// the languages of the meetings that it may be read in. Of several the one of the most meetings.
func (s *snapshot) stopWords(root query.Node) map[string]bool {
	var best *text.Language
	most := 0
	for _, lang := range s.langs {
		n := 0
		query.Walk(root, false, func(node query.Node, _ bool) {
			if w, ok := node.(*query.Word); ok && lang.StopWords[text.FoldWord(w.Text)] {
				n++
			}
		})
		if n < ownWords && s.spokenIn[lang.Code]*goodPart < s.visibleCount {
			continue
		}
		if n > most || n == most && n > 0 && s.spokenIn[lang.Code] > s.spokenIn[best.Code] {
			best, most = lang, n
		}
	}
	if best == nil {
		return nil
	}
	return best.StopWords
}
