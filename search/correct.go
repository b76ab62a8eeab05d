package search

import (
	"sort"

	"minutebook/internal/nearest"
	"minutebook/search/query"
)

// correct returns the query with the words that no visible meeting has replaced by
// near ones, or "" when there is none. Only words that a visible meeting has are
// suggested; a word that the people of speaker: merely did not say is no mistake.
func (s *snapshot) correct(q *query.Query, m *matches) (string, error) {
	corrected, err := query.Parse(q.String())
	if err != nil {
		return "", nil //nolint:nilerr // with signs that were added it is longer than a query may be
	}
	originals, words := wordsOf(q.Root), wordsOf(corrected.Root)
	if len(originals) != len(words) {
		return "", nil
	}
	replaced := false
	for i, w := range originals {
		t := m.byNode[w]
		if t == nil || t.negated || w.Prefix || w.Fuzzy || len(t.phrase) > 0 || t.meetings.size() > 0 {
			continue
		}
		near, err := s.nearestWord(t.word.term)
		if err != nil {
			return "", err
		}
		if near != "" && near != t.word.term {
			words[i].Text, replaced = near, true
		}
	}
	if !replaced {
		return "", nil
	}
	return corrected.String(), nil
}

// wordsOf lists the words of a tree in their order.
func wordsOf(root query.Node) []*query.Word {
	var words []*query.Word
	query.Walk(root, false, func(n query.Node, _ bool) {
		if w, ok := n.(*query.Word); ok {
			words = append(words, w)
		}
	})
	return words
}

// maxTried is how many near words are looked up for one suggestion.
const maxTried = 24

// nearestWord finds the word nearest to one that no meeting has: of those with the
// fewest edits, the one in the most visible meetings.
func (s *snapshot) nearestWord(word string) (string, error) {
	if len([]rune(word)) < 3 {
		return "", nil
	}
	near, _, err := s.findNear(word)
	if err == nil {
		near, err = s.onlyVisible(near, 0)
	}
	if err != nil {
		return "", err
	}
	distance := make(map[string]int, len(near))
	for _, t := range near {
		distance[t.term] = nearest.Distance(t.term, word)
	}
	sort.Slice(near, func(i, j int) bool {
		a, b := near[i], near[j]
		if distance[a.term] != distance[b.term] {
			return distance[a.term] < distance[b.term]
		}
		if a.count != b.count {
			return a.count > b.count
		}
		return a.term < b.term
	})
	best, most := "", 0
	for i, t := range near[:min(len(near), maxTried)] {
		if best != "" && distance[t.term] > distance[near[max(0, i-1)].term] {
			break
		}
		found, err := s.withVariants([]variant{{t.term, t.weight, t.fields}}, allTextFields())
		if err != nil {
			return "", err
		}
		if n := found.size(); n > most {
			best, most = t.term, n
		}
	}
	return best, nil
}
