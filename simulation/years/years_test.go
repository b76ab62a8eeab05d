package years

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestSameSeedSameHistory lives through seeds with every event twice.
func TestSameSeedSameHistory(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	same := 0
	for seed := uint64(firstTalking); seed < firstTalking+10; seed++ {
		o := options{days: 75, until: firstDay.Add(20 * 24 * time.Hour)}
		a, b := run(t, seed, o), run(t, seed, o)
		if a.journal.digest() == b.journal.digest() {
			same++
		} else {
			t.Logf("seed %d: %d and %d calls", seed, a.calls, b.calls)
		}
	}
	t.Logf("%d of 10 histories are the same in a second run", same)
	if same < 9 {
		t.Errorf("only %d of 10 histories are the same in a second run", same)
	}
}

// processorTime is the time that this process has used.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSimulate is `make simulate`: whole years of the seeds from FIRST on, for a number
// of seeds or a time, every STEPth of them. It prints a line for each, and the shortest
// history of each that fails.
func TestSimulate(t *testing.T) {
	testrun.SkipUnderRace(t)
	first, err := strconv.ParseUint(os.Getenv("MINUTEBOOK_SEED"), 10, 64)
	if err != nil {
		t.Skip("only by make simulate: MINUTEBOOK_SEED names the first seed")
	}
	keepOrder(t, first)
	setting := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return usual
	}
	step, count, days := uint64(setting("MINUTEBOOK_STEP", 1)), setting("MINUTEBOOK_SEEDS", 1), setting("MINUTEBOOK_DAYS", 365)
	limit, _ := time.ParseDuration(os.Getenv("MINUTEBOOK_FOR"))
	fmt.Printf("planned: %d histories, %.0f s\n", count, limit.Seconds())
	began := time.Now()
	for i := 0; i < count || time.Since(began) < limit; i++ {
		seed, used := first+uint64(i)*step, processorTime(t)
		out := run(t, seed, options{days: days})
		fmt.Printf("seed %d: %.2f years, %d accounts, %d meetings, %d calls, %d webhooks (%d due), %.1f MB, %d goroutines, processor %.1f s, journal %s %s\n",
			seed, out.years, out.accounts, out.meeting, out.calls, out.webhooks, out.due, float64(out.memory)/1e6, out.routines, (processorTime(t) - used).Seconds(), out.journal.digest(), out.finding)
		if os.Getenv("MINUTEBOOK_STORY") != "" {
			fmt.Println(out.journal.tail(1 << 30))
		}
		if out.finding == "" {
			continue
		}
		t.Errorf("seed %d: %s", seed, out.finding)
		if os.Getenv("MINUTEBOOK_FIRST_ONLY") != "" {
			return
		}
		if minutes := setting("MINUTEBOOK_SHRINK", 10); minutes > 0 && !out.at.IsZero() {
			out = shrink(t, seed, options{days: days}, out, time.Duration(minutes)*time.Minute)
		}
		fmt.Printf("%s\n%s", out.finding, story(out))
		if os.Getenv("MINUTEBOOK_LOGS") != "" {
			for _, l := range out.logs {
				fmt.Printf("  log %s", l)
			}
		}
	}
}

// TestSimulateBeginsWithEveryEvent looks at the seed with which make simulate begins.
func TestSimulateBeginsWithEveryEvent(t *testing.T) {
	testrun.SkipUnderRace(t)
	script, err := os.ReadFile("../../packaging/simulate")
	if err != nil {
		t.Fatal(err)
	}
	usual := regexp.MustCompile(`{FIRST:-(\d+)}`).FindSubmatch(script)
	if usual == nil {
		t.Fatal("packaging/simulate has no first seed")
	}
	first, err := strconv.ParseUint(string(usual[1]), 10, 64)
	if err != nil || first < firstHarsh || countActs(first) < len(acts()) {
		t.Errorf("make simulate begins with seed %s, which lacks events: %v", usual[1], err)
	}
}
