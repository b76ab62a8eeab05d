// Package nearest finds the word that a person may have meant. It keeps nothing.
package nearest

import (
	"fmt"
	"strings"
)

// UnknownError is the error of a name that nothing of its kind has: a mistake of the
// person who gave it.
type UnknownError struct {
	Kind  string // such as "account"
	Name  string
	Known []string
}

// Error names the name that may be meant, else all that there are.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no %s is named %q; ", e.Kind, e.Name)
	if near := Word(e.Name, e.Known); near != "" {
		return text + "did you mean " + near + "?"
	}
	if len(e.Known) == 0 {
		return text + "none is configured: name the configuration with -c FILE, or add one there"
	}
	return text + "there are " + strings.Join(e.Known, ", ")
}

// Word returns the one of known that takes the fewest insertions, deletions, changes
// and swaps of neighbouring letters to make of word, without regard to case, and ""
// where none comes close: a third of the letters and at least two may be wrong. Of
// two that are equally near the first is returned.
func Word(word string, known []string) string {
	best, found := max(2, len(word)/3)+1, ""
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < best && d < len(k) {
			best, found = d, k
		}
	}
	return found
}

// Distance counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
