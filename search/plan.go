package search

import (
	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
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
	return []string{segment.FieldText, segment.FieldTitle, segment.FieldSummary, segment.FieldHighlights, segment.FieldActions, segment.FieldCRM, segment.FieldPeople}
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

// wordLeaf is how a word of the query is looked for; nil when there is nothing
// in it to look for, such as "&".
func wordLeaf(w *query.Word) *leaf {
	l := phraseLeaf(w.Text)
	if l == nil || len(l.terms) > 0 {
		return l
	}
	l.key.prefix, l.key.fuzzy = w.Prefix, w.Fuzzy
	return l
}

// phraseLeaf is how words that must follow one another are looked for.
func phraseLeaf(phrase string) *leaf {
	l := &leaf{text: phrase, terms: text.PhraseTerms(phrase)}
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
func (v *view) stopWords(root query.Node) map[string]bool {
	var best map[string]bool
	most := 0
	for _, lang := range v.langs {
		n := 0
		query.Walk(root, false, func(node query.Node, _ bool) {
			if w, ok := node.(*query.Word); ok && lang.StopWords[text.FoldWord(w.Text)] {
				n++
			}
		})
		if n > most {
			best, most = lang.StopWords, n
		}
	}
	return best
}

// asked are the leaves that a meeting can have, in the order of the query:
// those not under a minus.
func asked(root query.Node, leaves map[query.Node]*leaf) []*leaf {
	var out []*leaf
	query.Walk(root, false, func(n query.Node, negated bool) {
		if l := leaves[n]; l != nil && !negated {
			out = append(out, l)
		}
	})
	return out
}

// leavesOf makes the leaves of a tree. Stop words are marked as such where the
// query has something else to look for.
func (v *view) leavesOf(root query.Node) map[query.Node]*leaf {
	leaves := map[query.Node]*leaf{}
	stop := v.stopWords(root)
	content := false
	query.Walk(root, false, func(n query.Node, negated bool) {
		var l *leaf
		switch n := n.(type) {
		case *query.Word:
			if l = wordLeaf(n); l != nil {
				l.stop = stop[l.key.term] && !n.Prefix && !n.Fuzzy && !negated
			}
		case *query.Phrase:
			l = phraseLeaf(n.Text)
		}
		if l != nil {
			l.key.field = segment.FieldText
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
