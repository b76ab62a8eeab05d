package syncer

import (
	"slices"
	"time"
)

const (
	pageSize = 10 // specification 2.1: no parameter raises it
	// meetingsPerWindow is how many meetings a window should hold at least. Each
	// window wastes half a page at its end on average, here one call in forty.
	meetingsPerWindow = 200
	maxWindows        = 12
)

// pageSample says how close together meetings are just before a time, by one
// light page.
type pageSample struct {
	Before time.Time // created_before of the query; zero: none
	Newest time.Time // created_at of the newest and oldest meeting on the page
	Oldest time.Time
	Items  int
	More   bool
}

// meanGap returns the mean time between two meetings on the page.
func (s pageSample) meanGap() time.Duration {
	if s.Items < 2 {
		return 0
	}
	return max(s.Newest.Sub(s.Oldest)/time.Duration(s.Items-1), time.Second)
}

// cutHistory divides history into at most limit windows with about as many
// meetings each, by the samples. It returns the times between the windows,
// oldest first. A wrong estimate only costs some calls.
func cutHistory(samples []pageSample, limit int) []time.Time {
	steps := estimateDensity(samples)
	var total float64
	for _, st := range steps {
		total += st.count
	}
	n := min(int(total)/meetingsPerWindow, limit)
	var cuts []time.Time
	share, sum := total/float64(max(n, 1)), 0.0
	for _, st := range steps {
		for next := share * float64(len(cuts)+1); len(cuts) < n-1 && sum+st.count > next; next += share {
			part := (next - sum) / st.count
			cuts = append(cuts, st.from.Add(time.Duration(part*float64(st.to.Sub(st.from)))).Truncate(time.Second))
		}
		sum += st.count
	}
	return slices.Compact(cuts)
}

// densityStep is a period with its estimated number of meetings.
type densityStep struct {
	from, to time.Time
	count    float64
}

// estimateDensity turns samples into periods, oldest first. Between two pages,
// meetings are assumed to be as close together as on the newer page.
func estimateDensity(samples []pageSample) []densityStep {
	filled := slices.DeleteFunc(slices.Clone(samples), func(s pageSample) bool { return s.Items == 0 })
	slices.SortFunc(filled, func(a, b pageSample) int { return a.Newest.Compare(b.Newest) })
	var steps []densityStep
	var until time.Time
	for _, s := range filled {
		if !until.IsZero() && until.Before(s.Oldest) && s.meanGap() > 0 {
			steps = append(steps, densityStep{until, s.Oldest, float64(s.Oldest.Sub(until)) / float64(s.meanGap())})
		}
		if from := later(until, s.Oldest); from.Before(s.Newest) {
			steps = append(steps, densityStep{from, s.Newest, float64(s.Items)})
		}
		until = s.Newest
	}
	return steps
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// windowsBetween returns the windows from after to before, divided at cuts.
// Zero times mean no bound. The newest window comes first, since recent
// meetings are wanted most.
func windowsBetween(after, before time.Time, cuts []time.Time) []window {
	var selected []time.Time
	for _, c := range cuts {
		if c.After(after) && (before.IsZero() || c.Before(before)) {
			selected = append(selected, c)
		}
	}
	var out []window
	upper := before
	for i := len(selected) - 1; i >= 0; i-- {
		out = append(out, window{N: len(out), After: selected[i], Before: upper})
		upper = selected[i]
	}
	return append(out, window{N: len(out), After: after, Before: upper})
}
