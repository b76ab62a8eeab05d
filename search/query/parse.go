package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"minutebook/search/text"
)

// Limits of a query. A longer or deeper one is an error, never a hang.
const (
	maxQueryBytes = 4096
	maxDepth      = 32
	maxLeaves     = 128
)

// Query is a parsed query.
type Query struct {
	Root Node   // never nil
	Sort string // "", SortDate or SortRelevance
}

// The values of sort:.
const (
	SortDate      = "date"
	SortRelevance = "relevance"
)

// Error is a mistake in a query and its place.
type Error struct {
	Pos     int    // byte offset in the query
	Message string // the mistake
	Hint    string // a remedy, or empty

	character int // the place for people, who count characters
}

// Error is a mistake in a query and its place.
func (e *Error) Error() string {
	s := fmt.Sprintf("read the query at character %d: %s", e.character+1, e.Message)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Parse reads the query language of docs/search.md. Its error is always a
// *Error. An empty query is an And without kids: every meeting. Words and phrases
// without a letter or digit mean nothing beside others, and are a mistake by themselves.
func Parse(query string) (*Query, error) {
	q, err := parse(query)
	if wrong, ok := errors.AsType[*Error](err); ok {
		wrong.character = utf8.RuneCountInString(query[:wrong.Pos])
	}
	return q, err
}

func parse(query string) (*Query, error) {
	if len(query) > maxQueryBytes {
		return nil, &Error{Pos: maxQueryBytes, Message: fmt.Sprintf("the query is longer than %d bytes", maxQueryBytes)}
	}
	p := &parser{tokens: tokenize(query)}
	root, err := p.parseAll(0)
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind == kindClose {
		return nil, &Error{Pos: t.pos, Message: "this parenthesis closes nothing", Hint: `to search for it, put quotation marks round it`}
	}
	if and, ok := root.(*And); ok && len(and.Kids) == 0 && strings.TrimSpace(query) != "" {
		return nil, &Error{Message: errNoWord.Error()}
	}
	q := &Query{Root: root}
	q.takeSort()
	return q, checkPlaces(q.Root)
}

// String prints the query so that it parses to the same tree.
func (q *Query) String() string {
	s := q.Root.String()
	if q.Sort == "" {
		return s
	}
	return strings.TrimSpace(s + " sort:" + q.Sort)
}

type parser struct {
	tokens []token
	at     int
	leaves int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != kindEnd {
		p.at++
	}
	return t
}

// parseAll reads items that must all hold, up to a closing parenthesis or the end.
func (p *parser) parseAll(depth int) (Node, error) {
	and := &And{}
	for {
		switch t := p.peek(); t.kind {
		case kindEnd, kindClose:
			if len(and.Kids) == 1 {
				return and.Kids[0], nil
			}
			return and, nil
		default:
			kid, err := p.parseEither(depth)
			if err != nil {
				return nil, err
			}
			if kid != nil {
				and.Kids = append(and.Kids, kid)
			}
		}
	}
}

// parseEither reads an item and the alternatives that OR joins to it. An OR with
// nothing on one side is the word "or"; beside an item without a letter or digit it means
// nothing.
func (p *parser) parseEither(depth int) (Node, error) {
	if t := p.peek(); t.kind == kindOr && t.afterSign && p.startsItem(p.at+1) {
		p.take()
	}
	first, err := p.parseItem(depth)
	for err == nil && first == nil && p.peek().kind == kindOr && p.startsItem(p.at+1) {
		p.take()
		first, err = p.parseItem(depth)
	}
	if err != nil || first == nil {
		return first, err
	}
	alternatives := &Or{Kids: []Node{first}}
	for p.peek().kind == kindOr && p.startsItem(p.at+1) {
		p.take()
		next, err := p.parseItem(depth)
		if err != nil {
			return nil, err
		}
		if next != nil {
			alternatives.Kids = append(alternatives.Kids, next)
		}
	}
	if len(alternatives.Kids) == 1 {
		return first, nil
	}
	return alternatives, nil
}

func (p *parser) startsItem(at int) bool {
	switch p.tokens[at].kind {
	case kindEnd, kindClose, kindOr:
		return false
	}
	return true
}

// parseItem reads one word, phrase, filter, group, or the negation of one; nil
// when there was nothing in it.
func (p *parser) parseItem(depth int) (Node, error) {
	t := p.take()
	if t.kind != kindMinus && t.kind != kindOpen {
		p.leaves++
	}
	if p.leaves > maxLeaves {
		return nil, &Error{Pos: t.pos, Message: fmt.Sprintf("the query has more than %d parts", maxLeaves)}
	}
	switch t.kind {
	case kindOpen:
		return p.parseGroup(t, depth)
	case kindMinus:
		if !p.startsItem(p.at) {
			return nil, nil
		}
		kid, err := p.parseItem(depth)
		if err != nil || kid == nil {
			return nil, err
		}
		if not, ok := kid.(*Not); ok {
			return not.Kid, nil
		}
		return &Not{Kid: kid}, nil
	case kindPhrase:
		if !isSearchable(t.text) {
			return nil, nil
		}
		return &Phrase{Text: t.text, Pos: t.pos}, nil
	case kindFilter:
		return readFilter(t)
	default:
		return readWord(t), nil
	}
}

func (p *parser) parseGroup(open token, depth int) (Node, error) {
	if depth+1 > maxDepth {
		return nil, &Error{Pos: open.pos, Message: fmt.Sprintf("parentheses stand more than %d deep", maxDepth)}
	}
	kid, err := p.parseAll(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.take().kind != kindClose {
		return nil, &Error{Pos: open.pos, Message: "this parenthesis is never closed", Hint: "add ) where it ends"}
	}
	if and, ok := kid.(*And); ok && len(and.Kids) == 0 {
		return nil, nil
	}
	return kid, nil
}

// isSearchable reports whether the index could have a word of a text.
func isSearchable(s string) bool { return len(text.PhraseTerms(s)) > 0 }

// readWord takes the marks of a prefix and of a fuzzy word off; nil when
// nothing is left to look for. Of words that follow one another, as in input/output, the last may be
// a prefix; a ~ behind them is passed over.
func readWord(t token) Node {
	w := &Word{Text: t.text, Pos: t.pos}
	for {
		switch {
		case strings.HasSuffix(w.Text, "*"):
			w.Prefix = true
		case strings.HasSuffix(w.Text, "~"):
			w.Fuzzy = true
		default:
			if !isSearchable(w.Text) {
				return nil
			}
			return w
		}
		w.Text = w.Text[:len(w.Text)-1]
	}
}

// takeSort moves sort: out of the tree; the last one counts.
func (q *Query) takeSort() {
	if f, ok := q.Root.(*Filter); ok && f.Field == "sort" {
		q.Sort, q.Root = f.Value, &And{}
		return
	}
	and, ok := q.Root.(*And)
	if !ok {
		return
	}
	kept := &And{}
	for _, kid := range and.Kids {
		if f, ok := kid.(*Filter); ok && f.Field == "sort" {
			q.Sort = f.Value
			continue
		}
		kept.Kids = append(kept.Kids, kid)
	}
	q.Root = kept
	if len(kept.Kids) == 1 {
		q.Root = kept.Kids[0]
	}
}

// checkPlaces refuses the filters that stand where they have no meaning.
func checkPlaces(root Node) (err error) {
	Walk(root, false, func(n Node, negated bool) {
		f, ok := n.(*Filter)
		if !ok || err != nil {
			return
		}
		switch {
		case f.Field == "sort":
			err = &Error{Pos: f.Pos, Message: "sort: orders the whole answer and cannot stand in a group or after a minus sign"}
		case f.Field == "in" && negated:
			err = &Error{Pos: f.Pos, Message: "in: says where words are looked for and cannot be negated", Hint: "name the parts to look in"}
		}
	})
	return err
}
