package years

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// history is a seed and the days that are lived through. With other days a seed has another
// plan.
type history struct {
	seed uint64
	days int
}

// live lives through the history, with a share of the processor if there is one, and says how
// a failure is repeated.
func (h history) live(t *testing.T, share time.Duration) {
	out := run(t, h.seed, options{days: h.days, share: share})
	t.Logf("seed %d: %.0f of %d days, %d meetings, %d calls", h.seed, out.years*365, h.days, out.meeting, out.calls)
	if out.finding == "" {
		return
	}
	if !out.at.IsZero() { // else it was found after the history
		out = shrink(t, h.seed, options{days: h.days}, out, 2*time.Minute)
	}
	t.Errorf("MINUTEBOOK_SEED=%d MINUTEBOOK_DAYS=%d go test -v -timeout 0 -run TestSimulate ./simulation/years: %s\n%s", h.seed, h.days, out.finding, story(out))
}

// failedSeeds are the histories that once failed.
func failedSeeds(t *testing.T) (failed []history) {
	raw, err := os.ReadFile(filepath.Join("testdata", "seeds"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var h history
		if _, err := fmt.Sscan(line, &h.seed, &h.days); err != nil || h.days <= lastQuiet {
			t.Fatalf("testdata/seeds: %q has no seed and days: %v", line, err)
		}
		failed = append(failed, h)
	}
	return failed
}

// TestFailedSeeds lives through all histories that once failed.
func TestFailedSeeds(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	for _, h := range failedSeeds(t) {
		h.live(t, 0)
	}
}

// choose returns the histories of a day: a new, short and eventful one, one of those that once
// failed, and more new ones.
func choose(failed []history, day time.Time) []history {
	n := int(day.Unix() / 86400)
	short := func(i int) history { return history{uint64(firstTalking + 10*n + i), 75} }
	list := []history{short(0), failed[n%len(failed)]}
	for i := 1; i < 10; i++ {
		list = append(list, short(i))
	}
	return list
}

// TestYears lives through the histories of the day, or of MINUTEBOOK_DATE, until it has used its
// share of the processor. The first one is always whole.
func TestYears(t *testing.T) {
	testrun.SkipUnderRace(t)
	const share = 30 * time.Second
	day := time.Now()
	if date := os.Getenv("MINUTEBOOK_DATE"); date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, date); err != nil {
			t.Fatal(err)
		}
	}
	began := processorTime(t)
	for i, h := range choose(failedSeeds(t), day) {
		left := share - (processorTime(t) - began)
		switch {
		case i == 0:
			h.live(t, 0)
		case left > 0:
			h.live(t, left)
		}
	}
}

// TestEverySeedHasItsDay goes from day to day: each history that once failed is chosen, and the
// new ones are new, with every event.
func TestEverySeedHasItsDay(t *testing.T) {
	testrun.SkipUnderRace(t)
	failed := failedSeeds(t)
	chosen := map[history]int{}
	for n := range failed {
		list := choose(failed, time.Date(2026, 2, 20+n, 23, 0, 0, 0, time.UTC))
		for i, h := range list {
			chosen[h]++
			if i != 1 && (h.seed < firstTalking || chosen[h] > 1) {
				t.Errorf("seed %d is not new, or lacks events", h.seed)
			}
		}
	}
	for _, h := range failed {
		if chosen[h] != 1 {
			t.Errorf("seed %d with %d days is chosen %d times", h.seed, h.days, chosen[h])
		}
	}
}
