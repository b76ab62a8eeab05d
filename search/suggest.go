package search

import (
	"sort"

	"minutebook/search/query"
	"minutebook/search/segment"
)

// suggest is the query with the words that no visible meeting has put right,
// or empty when there are none or nothing near them. Only words that a visible
// meeting has are suggested.
func (v *view) suggest(q *query.Query, leaves map[query.Node]*leaf) (string, error) {
	var words []*query.Word
	query.Walk(q.Root, false, func(n query.Node, negated bool) {
		w, ok := n.(*query.Word)
		l := leaves[n]
		if ok && l != nil && !negated && !w.Prefix && !w.Fuzzy && len(l.terms) == 0 && l.meetings != nil && l.meetings.size() == 0 {
			words = append(words, w)
		}
	})
	replaced := false
	for _, w := range words {
		better, err := v.better(leaves[w].key)
		if err != nil {
			return "", err
		}
		if better != "" {
			was := w.Text
			w.Text, replaced = better, true
			defer func() { w.Text = was }()
		}
	}
	if !replaced {
		return "", nil
	}
	return q.String(), nil
}

// mostTried is how many near words are looked up for one suggestion.
const mostTried = 24

// better is the word nearest to one that is not there: of those with the
// fewest edits, the one in the most visible meetings.
func (v *view) better(key formKey) (string, error) {
	if len([]rune(key.term)) < 3 {
		return "", nil
	}
	near, err := v.near(key)
	if err != nil {
		return "", err
	}
	away := make(map[string]int, len(near))
	for _, s := range near {
		away[s.term] = query.EditDistance(s.term, key.term)
	}
	sort.Slice(near, func(i, j int) bool {
		a, b := near[i], near[j]
		if away[a.term] != away[b.term] {
			return away[a.term] < away[b.term]
		}
		if a.count != b.count {
			return a.count > b.count
		}
		return a.term < b.term
	})
	best, most := "", 0
	for i, s := range near[:min(len(near), mostTried)] {
		if best != "" && away[s.term] > away[near[max(0, i-1)].term] {
			break
		}
		found, err := v.withTerms(segment.FieldText, s.term)
		if err != nil {
			return "", err
		}
		if n := found.size(); n > most {
			best, most = s.term, n
		}
	}
	return best, nil
}
