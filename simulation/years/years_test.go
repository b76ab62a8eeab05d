package years

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestYears lives through the seeds that once failed and then through others, until it
// has used its share of the processor.
func TestYears(t *testing.T) {
	testrun.SkipUnderRace(t)
	const share = 30 * time.Second
	began := processorTime(t)
	failed := failedSeeds(t)
	for i, s := range append(failed, 3, 4907, 8000, 10000, 10001, 10002, 10003, 10004, 10005, 10006) {
		if i >= len(failed) && processorTime(t)-began > share {
			return
		}
		out := run(t, s, options{days: 75})
		t.Logf("seed %d: %d meetings, %d calls, processor %s", s, out.meeting, out.calls, processorTime(t)-began)
		if out.finding != "" {
			t.Errorf("seed %d: %s\n%s", s, out.finding, story(out))
		}
	}
}

// TestSameSeedSameHistory lives through a seed twice.
func TestSameSeedSameHistory(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	same := 0
	for seed := range uint64(10) {
		o := options{days: 75, until: firstDay.Add(20 * 24 * time.Hour)}
		a, b := run(t, 1000+seed, o), run(t, 1000+seed, o)
		if a.journal.digest() == b.journal.digest() {
			same++
		} else {
			t.Logf("seed %d: %d and %d calls", 1000+seed, a.calls, b.calls)
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

// failedSeeds are the seeds that once failed.
func failedSeeds(t *testing.T) (seeds []uint64) {
	f, err := os.Open(filepath.Join("testdata", "seeds"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, _, _ := strings.Cut(lines.Text(), " ")
		if seed, err := strconv.ParseUint(word, 10, 64); err == nil {
			seeds = append(seeds, seed)
		}
	}
	return seeds
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
	setting := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return usual
	}
	step, count, days := uint64(setting("MINUTEBOOK_STEP", 1)), setting("MINUTEBOOK_SEEDS", 1), setting("MINUTEBOOK_DAYS", 365)
	limit, _ := time.ParseDuration(os.Getenv("MINUTEBOOK_FOR"))
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
