// Package nearest finds the word that a person may have meant. It keeps nothing.
package nearest

import "strings"

// Word returns the one of known that takes the fewest insertions, deletions, changes
// and swaps of neighbouring letters to make of word, without regard to case, and ""
// where none comes close: a third of the letters and at least two may be wrong. Of
// two that are equally near the first is returned.
func Word(word string, known []string) string {
	best, found := max(2, len(word)/3)+1, ""
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < best && d < len(k) {
			best, found = d, k
		}
	}
	return found
}

// distance returns the optimal string alignment distance of two words, in bytes.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
