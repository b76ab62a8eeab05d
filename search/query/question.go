package query

import "strings"

// HasWords reports whether there is a word or a phrase in a group.
func HasWords(n Node) bool {
	found := false
	Walk(n, false, func(n Node, _ bool) {
		switch n.(type) {
		case *Word, *Phrase:
			found = true
		}
	})
	return found
}

// IsPlain reports whether the query is words only, with filters or without: no phrase,
// OR of words, minus or mark. Only such a query is loosened.
func IsPlain(root Node) bool {
	isPlain := true
	Walk(root, false, func(n Node, negated bool) {
		switch n := n.(type) {
		case *Or:
			isPlain = isPlain && !HasWords(n)
		case *Not, *Phrase:
			isPlain = false
		case *Word:
			isPlain = isPlain && !n.Prefix && !n.Fuzzy
		}
	})
	return isPlain
}

// IsQuestion reports whether the query reads like plain English rather than search
// words.
func IsQuestion(root Node) bool {
	if !IsPlain(root) {
		return false
	}
	var words []string
	Walk(root, false, func(n Node, _ bool) {
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

// IsAskingWord reports whether a word of a question is about the answer and not about
// its subject: "summarize the discussion about…". It counts little in a question.
func IsAskingWord(term string) bool {
	switch term {
	case "summarize", "summarise", "summary", "describe", "explain", "tell", "find", "show", "list", "discuss", "discussed", "discussing", "discussion",
		"discussions", "say", "said", "says", "talk", "talked", "think", "thought", "thoughts", "mention", "mentioned", "opinion", "opinions",
		"view", "views", "decide", "decided", "conclude", "concluded", "conclusion", "attitude", "meeting", "meetings", "according":
		return true
	}
	return false
}
