package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"minutebook/archive"
	"minutebook/search"
)

var everyone = archive.Viewer{All: true}

// answered sums up the answers to a class of queries.
type answered struct {
	times   []time.Duration
	found   int    // meetings, all totals together
	exact   int    // answers whose total is exact
	worst   string // the query that took longest
	longest time.Duration
	err     error
}

// ask asks one query.
func (h *house) ask(ctx context.Context, a *answered, query string, viewer archive.Viewer, facets bool) error {
	begin := time.Now()
	answer, err := h.index.Search(ctx, search.Request{Query: query, Viewer: viewer, Facets: facets, Histogram: facets})
	if err != nil {
		return fmt.Errorf("%q: %w", query, err)
	}
	a.note(time.Since(begin), query, answer.Total, answer.Exact)
	return nil
}

// askUntil asks whole answers, one every 100 ms, until done.
func (h *house) askUntil(ctx context.Context, done *atomic.Bool) (a answered) {
	queries := h.classes
	for i := 0; !done.Load(); i++ {
		c := queries[i%len(queries)]
		if a.err = h.ask(ctx, &a, c.queries[i/len(queries)%len(c.queries)], everyone, true); a.err != nil {
			return a
		}
		time.Sleep(100 * time.Millisecond)
	}
	return a
}

// measure asks the queries of every class and prints their times.
func (h *house) measure(ctx context.Context) error {
	var fts *sql.DB
	if h.fts {
		var err error
		if fts, err = h.newFTS(ctx); err != nil {
			return err
		}
		defer fts.Close()
	}
	stop, err := profile(h.options.profile, "search")
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%-26s %9s %6s %7s %7s  %9s %8s %7s %7s  %s\n", "", "meetings", "exact", "p50", "p99", "p50 FTS5", "p99 FTS5", "p50 /", "p99 /", "slowest")
	for _, c := range h.classes {
		if h.only != "" && !slices.Contains(strings.Split(h.only, ","), c.name) {
			continue
		}
		var ours, seen answered
		var reference []time.Duration
		for i, q := range c.queries {
			if err := h.ask(ctx, &ours, q, everyone, c.facets); err != nil {
				return err
			}
			if c.facets {
				if err := h.ask(ctx, &seen, q, half, true); err != nil {
					return err
				}
			}
			if fts != nil && c.sql != "" {
				elapsed, err := askFTS(ctx, fts, c.sql, c.theirs[i])
				if err != nil {
					return err
				}
				reference = append(reference, elapsed)
			}
		}
		ours.print(c.name, reference)
		if c.facets {
			seen.print("  by who sees half", nil)
		}
	}
	return nil
}

func (a answered) print(name string, reference []time.Duration) {
	n := len(a.times)
	fmt.Printf("%-26s %9d %5.0f%% %7.1f %7.1f", name, a.found/n, 100*float64(a.exact)/float64(n), at(a.times, 0.5), at(a.times, 0.99))
	if len(reference) > 0 {
		fmt.Printf("  %9.1f %8.1f %7.3f %7.3f", at(reference, 0.5), at(reference, 0.99), at(a.times, 0.5)/at(reference, 0.5), at(a.times, 0.99)/at(reference, 0.99))
	} else {
		fmt.Printf("  %9s %8s %7s %7s", "", "", "", "")
	}
	fmt.Printf("  %s\n", a.worst)
}

// at is the time that a share of all stays under, in milliseconds.
func at(times []time.Duration, share float64) float64 {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]) / 1e6
}
