package years

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// rates are those of a storm's faults.
var rates = regexp.MustCompile(`:(\d\.\d+(e-\d+)?)`)

// unready is a line about a meeting that is shown without some content.
var unready = regexp.MustCompile(` is shown (\d+) without its `)

// tellAbout returns the newest lines. Of those about content that is not there yet it leaves out the
// ones about meetings that the finding does not name: they are most of a long history.
func (j *journal) tellAbout(finding string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := slices.DeleteFunc(slices.Clone(j.lines), func(line string) bool {
		found := unready.FindStringSubmatch(line)
		return found != nil && !slices.Contains(numbers.FindAllString(finding, -1), found[1])
	})
	return strings.Join(lines[max(0, len(lines)-400):], "\n")
}

// story is the history of a run for a person to read: who is there, the meetings of the beginning
// that the history names, and the events.
func story(out outcome) string {
	happened := rates.ReplaceAllStringFunc(out.journal.tellAbout(out.finding), func(rate string) string {
		share, _ := strconv.ParseFloat(rate[1:], 64)
		return fmt.Sprintf(" %.2g%%", 100*share)
	})
	lines := slices.Clone(out.people)
	for _, id := range slices.Sorted(maps.Keys(out.meetings)) {
		if regexp.MustCompile(fmt.Sprintf(`(?m)\b(on|of|meeting|shown|since) %d\b|^\S+ \S+ %d [a-z]`, id, id)).MatchString(happened) {
			lines = append(lines, out.meetings[id])
		}
	}
	return "In the beginning:\n  " + strings.Join(lines, "\n  ") + "\nWhat happened:\n  " + strings.ReplaceAll(happened, "\n", "\n  ") + "\n"
}

// describePeople says of each person, for a story, who that is and whether the account is read.
func (w *world) describePeople() (lines []string) {
	for _, p := range w.org.people {
		line := fmt.Sprintf("%s, %s", p.name, p.status)
		if p.team != "" {
			line += ", of " + p.team
		}
		if p.admin {
			line += ", an admin"
		}
		for _, a := range w.config.accounts {
			if a.email == p.email {
				line += map[bool]string{false: "; the account is read", true: "; the account is read through an app"}[a.oauth]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// describeMeetings says of each meeting, for a story, whose it is and who may see it.
func (w *world) describeMeetings() map[int64]string {
	described := map[int64]string{}
	for _, m := range w.org.meetings {
		line := fmt.Sprintf("meeting %d of %s, recorded by %s, %s", m.id, m.created.Format(time.DateOnly), m.recorder.name, m.sharing)
		if len(m.users) > 0 {
			line += fmt.Sprintf(" and %v", m.users)
		}
		if m.isMute {
			line += ", without a summary"
		}
		described[m.id] = line
	}
	return described
}
