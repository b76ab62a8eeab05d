package syncer

import (
	"slices"
	"sync"
	"time"
)

const (
	maxOpen = 64 // downloads requested and not yet fetched, whatever the link can do
	// safety is the part of a link's life in which its fetch must be able to end,
	// by what was measured: the rest is for a line that becomes slower.
	safety = 0.6
	// guessLife is taken for a link's life until one has been seen; the
	// specification says about 24 hours.
	guessLife = time.Hour
)

// link is a download that was requested and has not been fetched.
type link struct {
	Expires time.Time // zero while it is generated
	Left    int64     // bytes still to fetch; 0 while unknown
}

// pace is what was measured of the line and of the service, and decides from it
// how many downloads may be open: never more than can be fetched before they
// lapse, and no more than keep the line busy. It is safe for concurrent use.
type pace struct {
	mu         sync.Mutex
	rate       float64       // bytes a second over all fetches; 0: not measured
	size       float64       // mean bytes of a file
	generation time.Duration // mean time from request to completion
	life       time.Duration // the shortest life of a link that was seen
}

// weight is how much the newest measurement counts in a mean.
const weight = 0.2

func mean(old, latest float64) float64 {
	if old == 0 {
		return latest
	}
	return old + weight*(latest-old)
}

// fetched records that n bytes arrived in the time that the line was busy.
func (p *pace) fetched(n int64, busy time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && busy > 0 {
		p.rate = mean(p.rate, float64(n)/busy.Seconds())
	}
}

// completed records a generated file.
func (p *pace) completed(size int64, took, life time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = mean(p.size, float64(size))
	if took > 0 {
		p.generation = time.Duration(mean(float64(p.generation), float64(took)))
	}
	if life > 0 && (p.life == 0 || life < p.life) {
		p.life = life
	}
}

// firstPoll is when a download is looked at first: shortly before it is done as
// a rule, so that a poll is seldom in vain.
func (p *pace) firstPoll() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.generation*9/10, time.Second), time.Minute)
}

// usual is how long a generation takes as a rule, 0 while none was seen.
func (p *pace) usual() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// allow tells whether one more download may be requested at now, beside those
// that are open, with so many fetches at a time.
func (p *pace) allow(now time.Time, open []link, fetchers int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(open) >= maxOpen {
		return false
	}
	if p.rate == 0 || p.size == 0 {
		return len(open) < fetchers+1
	}
	if len(open) >= fetchers+1 && p.work(open) > p.horizon() {
		return false
	}
	return p.fits(now, append(slices.Clone(open), link{}))
}

// horizon is how much work is kept open: as much as is fetched while the next
// files are generated, and not more, since a link is of no use to a program that
// is switched off.
func (p *pace) horizon() time.Duration {
	return min(max(2*p.generation, 15*time.Second), p.lifetime()/4)
}

func (p *pace) lifetime() time.Duration {
	if p.life == 0 {
		return guessLife
	}
	return p.life
}

func (p *pace) work(open []link) time.Duration {
	var bytes float64
	for _, l := range open {
		bytes += p.left(l)
	}
	return time.Duration(bytes / p.rate * float64(time.Second))
}

func (p *pace) left(l link) float64 {
	if l.Left == 0 {
		return p.size
	}
	return float64(l.Left)
}

// fits tells whether all open links can be fetched in the order of their expiry,
// each within the safe part of what is left of its life.
func (p *pace) fits(now time.Time, open []link) bool {
	unborn := now.Add(p.generation + p.lifetime())
	for i := range open {
		if open[i].Expires.IsZero() {
			open[i].Expires = unborn
		}
	}
	slices.SortFunc(open, func(a, b link) int { return a.Expires.Compare(b.Expires) })
	var bytes float64
	for _, l := range open {
		bytes += p.left(l)
		need := time.Duration(bytes / p.rate * float64(time.Second))
		if need > time.Duration(safety*float64(l.Expires.Sub(now))) {
			return false
		}
	}
	return true
}

// speed is the measured rate in bytes a second, 0 while there is none.
func (p *pace) speed() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
}

// estimate is how long so many recordings take, 0 while nothing is measured.
func (p *pace) estimate(recordings int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate == 0 {
		return 0
	}
	return time.Duration(float64(recordings) * p.size / p.rate * float64(time.Second))
}
