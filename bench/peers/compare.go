package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// answer is how long a query took, and how many meetings it finds.
type answer struct {
	elapsed time.Duration
	found   int
}

// compare asks every engine each query in turn, and prints a line for each class: first
// how many times as long ours takes as each peer.
func compare(classes []class, engines []engine) error {
	head, names := "| queries |", []string{}
	for _, e := range engines {
		names = append(names, e.name)
	}
	for _, name := range names[1:] {
		head += fmt.Sprintf(" of %s |", name)
	}
	for _, name := range names {
		head += fmt.Sprintf(" %s, ms |", name)
	}
	fmt.Println(head + " found by " + strings.Join(names, ", ") + " |")
	fmt.Println("|" + strings.Repeat(" --- |", 2*len(engines)+1))
	for _, c := range classes {
		medians, found, err := askAll(c, engines)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		line := "| " + c.name + " |"
		for _, m := range medians[1:] {
			line += cell(m > 0, "%.2f", float64(medians[0])/float64(max(m, 1)))
		}
		var all []string
		for i, m := range medians {
			line += cell(m > 0, "%.2f", float64(m)/1e6)
			all = append(all, strings.Trim(cell(m > 0, "%.0f", found[i]), " |"))
		}
		fmt.Println(line, strings.Join(all, ", "), "|")
	}
	return nil
}

// cell is a figure in a table, and a dash where there is none.
func cell(has bool, format string, figure float64) string {
	if !has {
		return " – |"
	}
	return fmt.Sprintf(" "+format+" |", figure)
}

// askAll returns the median times and the medians of the meetings found, 0 for an engine
// that has no such query.
func askAll(c class, engines []engine) (medians []time.Duration, found []float64, err error) {
	answers := make([][]answer, len(engines))
	for _, q := range c.queries {
		for i, e := range engines {
			a, err := e.ask(q)
			if errors.Is(err, errNotAsked) {
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %v: %w", e.name, q.Words, err)
			}
			answers[i] = append(answers[i], a)
		}
	}
	for _, list := range answers {
		if len(list) == 0 {
			medians, found = append(medians, 0), append(found, 0)
			continue
		}
		slices.SortFunc(list, func(a, b answer) int { return a.found - b.found })
		found = append(found, float64(list[len(list)/2].found))
		slices.SortFunc(list, func(a, b answer) int { return int(a.elapsed - b.elapsed) })
		medians = append(medians, list[len(list)/2].elapsed)
	}
	return medians, found, nil
}
