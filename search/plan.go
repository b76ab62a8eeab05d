package search

import (
	"strings"
)

// leaf is a word or a phrase of the query, as it is looked for.
type leaf struct {
	text  string   // as typed
	key   formKey  // of a word
	terms []string // of a phrase, two or more
	stop  bool     // a stop word: it counts only where there is nothing else
	asks  bool     // says what is wanted of the answer rather than what is in it
	forms []form   // of a word, filled in when it is first looked for

	meetings docset // the meetings that have it; filled in with its place in the tree
}

// textFields are the fields of meetings that words are looked for in.
func textFields() []string {
	return []string{fieldText, fieldTitle, fieldSummary, fieldHighlights, fieldActions, fieldCRM, fieldPeople}
}

// partField is the field of a value of in:.
func partField(part string) string {
	switch part {
	case "transcript":
		return fieldText
	case "summary":
		return fieldSummary
	case "actions":
		return fieldActions
	case "highlights":
		return fieldHighlights
	case "title":
		return fieldTitle
	}
	return fieldCRM
}

// wordLeaf is how a word of the query is looked for; nil when there is nothing
// in it to look for, such as "&".
func wordLeaf(w *Word) *leaf {
	l := phraseLeaf(w.Text)
	if l == nil || len(l.terms) > 0 {
		return l
	}
	l.key.prefix, l.key.fuzzy = w.Prefix, w.Fuzzy
	return l
}

// phraseLeaf is how words that must follow one another are looked for. Words
// that punctuation ties together are looked for as one, in their joined form.
func phraseLeaf(text string) *leaf {
	l := &leaf{text: text}
	s := sequence(tokenize(text))
	for i := 0; i < len(s.words); {
		term, next := s.words[i].term, i+1
		for _, w := range s.wholes {
			if w.first == i && !isPacked([]rune(w.term)[0]) {
				term, next = w.term, w.after
			}
		}
		l.terms = append(l.terms, term)
		i = next
	}
	switch len(l.terms) {
	case 0:
		return nil
	case 1:
		l.key.term = l.terms[0]
		l.terms = nil
	}
	return l
}

// stopWords are those of the language that most of the query's words are stop
// words of, among the viewer's languages.
func (v *view) stopWords(root Node) map[string]bool {
	var best map[string]bool
	most := 0
	for _, lang := range v.langs {
		n := 0
		walk(root, false, func(node Node, _ bool) {
			if w, ok := node.(*Word); ok && lang.stop[foldWide(w.Text)] {
				n++
			}
		})
		if n > most {
			best, most = lang.stop, n
		}
	}
	return best
}

// asked are the leaves that a meeting can have, in the order of the query:
// those not under a minus.
func asked(root Node, leaves map[Node]*leaf) []*leaf {
	var out []*leaf
	walk(root, false, func(n Node, negated bool) {
		if l := leaves[n]; l != nil && !negated {
			out = append(out, l)
		}
	})
	return out
}

// leavesOf makes the leaves of a tree. Stop words are marked as such where the
// query has something else to look for.
func (v *view) leavesOf(root Node) map[Node]*leaf {
	leaves := map[Node]*leaf{}
	stop := v.stopWords(root)
	content := false
	walk(root, false, func(n Node, negated bool) {
		var l *leaf
		switch n := n.(type) {
		case *Word:
			if l = wordLeaf(n); l != nil {
				l.stop = stop[l.key.term] && !n.Prefix && !n.Fuzzy && !negated
			}
		case *Phrase:
			l = phraseLeaf(n.Text)
		}
		if l != nil {
			l.key.field = fieldText
			leaves[n] = l
			content = content || !l.stop && !negated
		}
	})
	if !content {
		for _, l := range leaves {
			l.stop = false
		}
	}
	return leaves
}

// plainWords says whether the query is words only, beside filters: no phrase,
// OR, minus or mark. Only such a query is loosened.
func plainWords(root Node) bool {
	plain := true
	walk(root, false, func(n Node, negated bool) {
		switch n := n.(type) {
		case *Or, *Not, *Phrase:
			plain = false
		case *Word:
			plain = plain && !n.Prefix && !n.Fuzzy
		}
	})
	return plain
}

// isQuestion says whether the query reads like plain English rather than
// search words.
func isQuestion(root Node) bool {
	if !plainWords(root) {
		return false
	}
	var words []string
	walk(root, false, func(n Node, _ bool) {
		if w, ok := n.(*Word); ok {
			words = append(words, strings.ToLower(w.Text))
		}
	})
	if len(words) < 4 {
		return false
	}
	if len(words) >= 8 || strings.HasSuffix(words[len(words)-1], "?") {
		return true
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(words[0], "’", "'"), "'")
	switch first {
	case "what", "why", "how", "who", "when", "where", "which", "did", "does", "do", "is", "are", "was", "were", "can", "could",
		"should", "summarize", "summarise", "describe", "explain", "tell", "find", "show", "list":
		return true
	}
	return false
}

// asking says whether a word is one with which a question says what is wanted of the answer:
// "summarize the discussion about…". It counts little in a question.
func asking(term string) bool {
	switch term {
	case "summarize", "summarise", "summary", "describe", "explain", "tell", "find", "show", "list", "discuss", "discussed", "discussing", "discussion",
		"discussions", "say", "said", "says", "talk", "talked", "think", "thought", "thoughts", "mention", "mentioned", "opinion", "opinions",
		"view", "views", "decide", "decided", "conclude", "concluded", "conclusion", "attitude", "meeting", "meetings", "according":
		return true
	}
	return false
}
