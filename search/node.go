package search

import (
	"strings"
)

// Node is one part of a parsed query: *And, *Or, *Not, *Word, *Phrase or
// *Filter. Its String is in the query language and parses to the same node.
type Node interface {
	String() string
	write(b *strings.Builder, inside level)
}

// level says how tightly the place binds that a node is printed into.
type level int

const (
	levelAnd level = iota // beside others, all of which must hold
	levelOr               // an alternative of OR
	levelNot              // after a minus sign
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
// Fields, in lower case; the value is as typed.
type Filter struct {
	Field, Value string
	Pos          int
}

func (n *And) String() string    { return printed(n) }
func (n *Or) String() string     { return printed(n) }
func (n *Not) String() string    { return printed(n) }
func (n *Word) String() string   { return printed(n) }
func (n *Phrase) String() string { return printed(n) }
func (n *Filter) String() string { return printed(n) }

func printed(n Node) string {
	var b strings.Builder
	n.write(&b, levelAnd)
	return b.String()
}

func (n *And) write(b *strings.Builder, inside level) {
	group := inside != levelAnd && len(n.Kids) != 1
	if group {
		b.WriteByte('(')
	}
	for i, kid := range n.Kids {
		if i > 0 {
			b.WriteByte(' ')
		}
		if and, ok := kid.(*And); ok {
			and.write(b, levelOr)
			continue
		}
		kid.write(b, levelAnd)
	}
	if group {
		b.WriteByte(')')
	}
}

func (n *Or) write(b *strings.Builder, inside level) {
	if inside != levelAnd {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	for i, kid := range n.Kids {
		if i > 0 {
			b.WriteString(" OR ")
		}
		kid.write(b, levelOr)
	}
}

func (n *Not) write(b *strings.Builder, _ level) {
	b.WriteByte('-')
	n.Kid.write(b, levelNot)
}

func (n *Word) write(b *strings.Builder, _ level) {
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

func (n *Phrase) write(b *strings.Builder, _ level) {
	b.WriteByte('"')
	b.WriteString(n.Text)
	b.WriteByte('"')
}

func (n *Filter) write(b *strings.Builder, _ level) {
	b.WriteString(n.Field)
	b.WriteByte(':')
	if strings.ContainsFunc(n.Value, endsWord) || n.Value == "" {
		b.WriteByte('"')
		b.WriteString(n.Value)
		b.WriteByte('"')
		return
	}
	b.WriteString(n.Value)
}

// walk calls visit for n and everything below it, with whether the place is
// under an odd number of nots.
func walk(n Node, negated bool, visit func(n Node, negated bool)) {
	visit(n, negated)
	switch n := n.(type) {
	case *And:
		for _, kid := range n.Kids {
			walk(kid, negated, visit)
		}
	case *Or:
		for _, kid := range n.Kids {
			walk(kid, negated, visit)
		}
	case *Not:
		walk(n.Kid, !negated, visit)
	}
}
