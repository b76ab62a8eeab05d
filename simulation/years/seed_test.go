package years

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// newRand returns the random numbers of one purpose. Each purpose has its own, so
// that a decision that is left out changes no other.
func newRand(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", seed, purpose)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// dice draws for calls. A draw depends on the seed, its name, the hour, and how often
// that name was drawn in this hour: not on the order in which goroutines run, and a
// difference between two runs does not last.
type dice struct {
	seed uint64
	mu   sync.Mutex // guards count
	n    map[string]int
}

func newDice(seed uint64) *dice { return &dice{seed: seed, n: map[string]int{}} }

// roll returns random numbers for the next draw of a name.
func (d *dice) roll(name string) *rand.Rand {
	name += time.Now().UTC().Format("@2006-01-02T15")
	d.mu.Lock()
	d.n[name]++
	n := d.n[name]
	d.mu.Unlock()
	return newRand(d.seed, fmt.Sprintf("%s#%d", name, n))
}

// journal records the decisions and acts of a run.
type journal struct {
	dir   string     // of the run, which no line names
	mu    sync.Mutex // guards lines
	lines []string
}

// note adds a line at the present virtual time.
func (j *journal) note(format string, args ...any) {
	line := time.Now().UTC().Format("2006-01-02 15:04:05.000 ") + strings.ReplaceAll(fmt.Sprintf(format, args...), j.dir, "")
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// digest identifies the journal.
func (j *journal) digest() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := fnv.New64a()
	for _, l := range j.lines {
		fmt.Fprintln(h, l)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// tail returns the last lines.
func (j *journal) tail(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines[max(0, len(j.lines)-n):], "\n")
}
