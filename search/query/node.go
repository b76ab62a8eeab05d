package query

import (
	"strings"
)

// Node is one part of a parsed query: *And, *Or, *Not, *Word, *Phrase or
// *Filter. Its String is in the query language and parses to the same node.
type Node interface {
	String() string
	write(b *strings.Builder, outer binding)
}

// binding says how tightly the text around a node binds, by which it needs parentheses.
type binding int

const (
	inAnd binding = iota // among others, all of which must hold
	inOr                 // an alternative of OR
	inNot                // after a minus sign
)

// And holds when all of its kids hold. An And without kids holds for every
// meeting.
type And struct{ Kids []Node }

// Or holds when one of its kids holds; it has two kids or more.
type Or struct{ Kids []Node }

// Not holds when its kid does not.
type Not struct{ Kid Node }

// Word is one word as typed, without the mark that makes it a prefix
// (word*) or fuzzy (word~). Pos is its byte offset in the query.
type Word struct {
	Text          string
	Prefix, Fuzzy bool
	Pos           int
}

// Phrase is words that must follow one another.
type Phrase struct {
	Text string
	Pos  int
}

// Filter is a field and its value, such as speaker:anna. The field is one of
// Fields, in lower case; the value is as typed, and in lower case where the field has fixed
// values. It prints in one line.
type Filter struct {
	Field, Value string
	Pos          int
}

// String returns the node in the query language.
func (n *And) String() string { return printNode(n) }

// String returns the node in the query language.
func (n *Or) String() string { return printNode(n) }

// String returns the node in the query language.
func (n *Not) String() string { return printNode(n) }

// String returns the node in the query language.
func (n *Word) String() string { return printNode(n) }

// String returns the node in the query language.
func (n *Phrase) String() string { return printNode(n) }

// String returns the node in the query language.
func (n *Filter) String() string { return printNode(n) }

// printNode prints a node that stands alone.
func printNode(n Node) string {
	var b strings.Builder
	n.write(&b, inAnd)
	return b.String()
}

func (n *And) write(b *strings.Builder, outer binding) {
	group := outer != inAnd && len(n.Kids) != 1
	if group {
		b.WriteByte('(')
	}
	for i, kid := range n.Kids {
		if i > 0 {
			b.WriteByte(' ')
		}
		if and, ok := kid.(*And); ok {
			and.write(b, inOr)
			continue
		}
		kid.write(b, inAnd)
	}
	if group {
		b.WriteByte(')')
	}
}

func (n *Or) write(b *strings.Builder, outer binding) {
	if outer != inAnd {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	for i, kid := range n.Kids {
		if i > 0 {
			b.WriteString(" OR ")
		}
		kid.write(b, inOr)
	}
}

func (n *Not) write(b *strings.Builder, _ binding) {
	b.WriteByte('-')
	n.Kid.write(b, inNot)
}

func (n *Word) write(b *strings.Builder, _ binding) {
	if isOr(n.Text) && !n.Prefix && !n.Fuzzy {
		b.WriteString("(" + n.Text + ")") // the word, in a group of its own
		return
	}
	b.WriteString(n.Text)
	if n.Prefix {
		b.WriteByte('*')
	}
	if n.Fuzzy {
		b.WriteByte('~')
	}
}

func (n *Phrase) write(b *strings.Builder, _ binding) {
	b.WriteByte('"')
	b.WriteString(n.Text)
	b.WriteByte('"')
}

func (n *Filter) write(b *strings.Builder, _ binding) {
	b.WriteString(n.Field)
	b.WriteByte(':')
	value := cleanPhrase(n.Value)
	if !strings.ContainsFunc(value, endsWord) && value != "" && value[0] != '/' {
		b.WriteString(value)
		return
	}
	b.WriteByte('"')
	for _, r := range value {
		b.WriteRune(r)
		if isQuote(r) {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// Walk calls visit for n and everything below it. negated tells whether the place is
// under an odd number of nots.
func Walk(n Node, negated bool, visit func(n Node, negated bool)) {
	visit(n, negated)
	switch n := n.(type) {
	case *And:
		for _, kid := range n.Kids {
			Walk(kid, negated, visit)
		}
	case *Or:
		for _, kid := range n.Kids {
			Walk(kid, negated, visit)
		}
	case *Not:
		Walk(n.Kid, !negated, visit)
	}
}
