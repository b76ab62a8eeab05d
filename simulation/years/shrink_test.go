package years

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var numbers = regexp.MustCompile(`[0-9a-f]{16,}|[0-9]+`)

// kindOf is a finding without the parts that differ from run to run.
func kindOf(finding string) string {
	kind := numbers.ReplaceAllString(finding, "#")
	return kind[:min(len(kind), 60)]
}

// shrink leaves out decisions as long as the history still ends in the same kind of
// finding, for at most so long.
func shrink(t *testing.T, seed uint64, o options, found outcome, most time.Duration) outcome {
	began, kind := time.Now(), kindOf(found.finding)
	off := maps.Clone(o.disabled)
	if off == nil {
		off = map[string]bool{}
	}
	try := func(names []string) bool {
		if len(names) == 0 || time.Since(began) > most {
			return false
		}
		next := options{days: o.days, disabled: maps.Clone(off), until: found.at.Add(time.Second), after: o.after}
		for _, n := range names {
			next.disabled[n] = true
		}
		out := run(t, seed, next)
		if kindOf(out.finding) != kind {
			return false
		}
		off, found = next.disabled, out
		return true
	}
	left := slices.Clone(found.events)
	for _, f := range (&world{seed: seed}).faultNames() {
		left = append(left, "fault:"+f)
	}
	for size := len(left) / 2; size > 0 && time.Since(began) < most; size /= 2 {
		for at := 0; at < len(left); {
			part := left[at:min(at+size, len(left))]
			if try(part) {
				left = slices.Delete(slices.Clone(left), at, at+len(part))
			} else {
				at += size
			}
		}
	}
	return found
}

// story is the history of a run for a person to read.
func story(out outcome) string {
	return "What happened:\n  " + strings.ReplaceAll(out.journal.tail(400), "\n", "\n  ") + "\n"
}
