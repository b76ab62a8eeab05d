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
	safeShare = 0.6
	// guessLife is taken for a link's life until one has been seen; the
	// specification says about 24 hours.
	assumedLifetime = time.Hour
)

// link is a download that was requested and has not been fetched.
type openLink struct {
	Expires time.Time // zero while it is generated
	Left    int64     // bytes still to fetch; 0 while unknown
}

// pace is what was measured of the line and of the service, and decides from it
// how many downloads may be open: never more than can be fetched before they
// lapse, and no more than keep the line busy. It is safe for concurrent use.
type pacer struct {
	mu           sync.Mutex
	rate         float64       // bytes a second over all fetches; 0: not measured
	meanSize     float64       // mean bytes of a file
	generation   time.Duration // mean time from request to completion
	shortestLife time.Duration // the shortest life of a link that was seen
}

// weight is how much the newest measurement counts in a mean.
const newestWeight = 0.2

func movingMean(old, latest float64) float64 {
	if old == 0 {
		return latest
	}
	return old + newestWeight*(latest-old)
}

// fetched records that n bytes arrived in the time that the line was busy.
func (p *pacer) recordFetch(n int64, busy time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && busy > 0 {
		p.rate = movingMean(p.rate, float64(n)/busy.Seconds())
	}
}

// completed records a generated file.
func (p *pacer) recordGeneration(size int64, took, life time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meanSize = movingMean(p.meanSize, float64(size))
	if took > 0 {
		p.generation = time.Duration(movingMean(float64(p.generation), float64(took)))
	}
	if life > 0 && (p.shortestLife == 0 || life < p.shortestLife) {
		p.shortestLife = life
	}
}

// firstPoll is when a download is looked at first: shortly before it is done as
// a rule, so that a poll is seldom in vain.
func (p *pacer) firstPollDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.generation*9/10, time.Second), time.Minute)
}

// usual is how long a generation takes as a rule, 0 while none was seen.
func (p *pacer) usualGeneration() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// allow tells whether one more download may be requested at now, beside those
// that are open, with so many fetches at a time.
func (p *pacer) allowsAnother(now time.Time, open []openLink, fetchers int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(open) >= maxOpen {
		return false
	}
	if p.rate == 0 || p.meanSize == 0 {
		return len(open) < fetchers+1
	}
	if len(open) >= fetchers+1 && p.backlog(open) > p.maxBacklog() {
		return false
	}
	return p.fitsInTime(now, append(slices.Clone(open), openLink{}))
}

// horizon is how much work is kept open: as much as is fetched while the next
// files are generated, and not more, since a link is of no use to a program that
// is switched off.
func (p *pacer) maxBacklog() time.Duration {
	return min(max(2*p.generation, 15*time.Second), p.linkLifetime()/4)
}

func (p *pacer) linkLifetime() time.Duration {
	if p.shortestLife == 0 {
		return assumedLifetime
	}
	return p.shortestLife
}

func (p *pacer) backlog(open []openLink) time.Duration {
	var bytes float64
	for _, l := range open {
		bytes += p.bytesLeft(l)
	}
	return time.Duration(bytes / p.rate * float64(time.Second))
}

func (p *pacer) bytesLeft(l openLink) float64 {
	if l.Left == 0 {
		return p.meanSize
	}
	return float64(l.Left)
}

// fits tells whether all open links can be fetched in the order of their expiry,
// each within the safe part of what is left of its life.
func (p *pacer) fitsInTime(now time.Time, open []openLink) bool {
	unborn := now.Add(p.generation + p.linkLifetime())
	for i := range open {
		if open[i].Expires.IsZero() {
			open[i].Expires = unborn
		}
	}
	slices.SortFunc(open, func(a, b openLink) int { return a.Expires.Compare(b.Expires) })
	var bytes float64
	for _, l := range open {
		bytes += p.bytesLeft(l)
		need := time.Duration(bytes / p.rate * float64(time.Second))
		if need > time.Duration(safeShare*float64(l.Expires.Sub(now))) {
			return false
		}
	}
	return true
}

// speed is the measured rate in bytes a second, 0 while there is none.
func (p *pacer) measuredRate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
}

// estimate is how long so many recordings take, 0 while nothing is measured.
func (p *pacer) estimate(recordings int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate == 0 {
		return 0
	}
	return time.Duration(float64(recordings) * p.meanSize / p.rate * float64(time.Second))
}
