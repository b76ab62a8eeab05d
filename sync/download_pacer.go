package syncer

import (
	"slices"
	"sync"
	"time"
)

const (
	maxOpen = 64 // most open downloads, however fast the line is
	// safeShare is the share of a link's lifetime in which its fetch must end at the
	// measured rate. The rest is for a line that becomes slower.
	safeShare = 0.6
	// assumedLifetime is a link's lifetime until one was seen; the specification
	// says about 24 hours.
	assumedLifetime = time.Hour
)

// openLink is a download that was requested and is not fetched yet.
type openLink struct {
	Expires time.Time // zero while it is generated
	Left    int64     // bytes still to fetch; 0 while unknown
}

// pacer decides, from measurements of the line and the service, how many
// downloads may be open: no more than can be fetched before their links expire,
// and no more than keep the line busy. It is safe for concurrent use.
type pacer struct {
	mu           sync.Mutex
	rate         float64       // bytes a second over all fetches; 0: not measured
	meanSize     float64       // mean bytes of a file
	generation   time.Duration // mean time from request to completion
	shortestLife time.Duration // the shortest lifetime of the latest links
}

// newestWeight is the weight of the newest measurement in a moving mean.
const newestWeight = 0.2

// movingMean returns the mean after another measurement. A mean of 0 has none
// yet.
func movingMean(old, latest float64) float64 {
	if old == 0 {
		return latest
	}
	return old + newestWeight*(latest-old)
}

// recordFetch records that n bytes arrived while fetches were active for a
// time.
func (p *pacer) recordFetch(n int64, busy time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && busy > 0 {
		p.rate = movingMean(p.rate, float64(n)/busy.Seconds())
	}
}

// recordGeneration records a generated file, how long the service took and how
// long its link is valid.
func (p *pacer) recordGeneration(size int64, elapsed, life time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meanSize = movingMean(p.meanSize, float64(size))
	if elapsed = min(elapsed, generationLimit); elapsed > 0 { // longer only when a clock was set
		p.generation = time.Duration(movingMean(float64(p.generation), float64(elapsed)))
	}
	switch {
	case life > 0 && (p.shortestLife == 0 || life < p.shortestLife):
		p.shortestLife = life
	case life > 0:
		p.shortestLife += (life - p.shortestLife) / 4
	}
}

// firstPollDelay returns when to poll first: shortly before the file is usually
// generated, so that few polls are in vain.
func (p *pacer) firstPollDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.generation*9/10, time.Second), time.Minute)
}

// usualGeneration returns the mean time from request to completion, 0 before
// the first one.
func (p *pacer) usualGeneration() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// announcedPollDelay returns when to poll first where a callback will announce the
// file: when the callback is probably lost.
func (p *pacer) announcedPollDelay() time.Duration {
	return min(max(announcementWait, 3*p.usualGeneration()), slowestAnnouncedPoll)
}

// patience returns how long a download is generated before it counts as open no more: far longer
// than usual, but never so long that downloads whose files never come hold up the others for hours.
func (p *pacer) patience() time.Duration {
	return min(max(10*time.Minute, 5*p.usualGeneration()), time.Hour)
}

// allowsAnother reports whether one more download may be requested beside the
// open ones. One is always allowed: without it nothing would be measured any more, and
// one odd measurement would end all downloads. Its bytes are kept when its link lapses.
func (p *pacer) allowsAnother(now time.Time, open []openLink, fetchers int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(open) == 0:
		return true
	case len(open) >= maxOpen:
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

// maxBacklog returns how much fetching time may be requested in advance: enough
// for the time in which the next files are generated. More would be wasted when
// the program stops.
func (p *pacer) maxBacklog() time.Duration {
	return min(max(2*p.generation, 15*time.Second), p.linkLifetime()/4)
}

// linkLifetime returns how long a link is valid, by the shortest one seen.
func (p *pacer) linkLifetime() time.Duration {
	if p.shortestLife == 0 {
		return assumedLifetime
	}
	return p.shortestLife
}

// backlog returns how long fetching all open links takes.
func (p *pacer) backlog(open []openLink) time.Duration {
	var bytes float64
	for _, l := range open {
		bytes += p.bytesLeft(l)
	}
	return time.Duration(bytes / p.rate * float64(time.Second))
}

// bytesLeft returns the bytes to fetch of a link, the mean size while unknown.
func (p *pacer) bytesLeft(l openLink) float64 {
	if l.Left == 0 {
		return p.meanSize
	}
	return float64(l.Left)
}

// fitsInTime reports whether all open links can be fetched in the order of
// their expiry, each within the safe share of its remaining lifetime.
func (p *pacer) fitsInTime(now time.Time, open []openLink) bool {
	latest := now.Add(p.generation + p.linkLifetime())
	for i := range open {
		if open[i].Expires.IsZero() {
			open[i].Expires = latest
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

// measuredRate returns the rate in bytes a second, 0 before the first
// measurement.
func (p *pacer) measuredRate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
}

// estimate returns how long that many recordings take, 0 before the first
// measurement.
func (p *pacer) estimate(recordings int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate == 0 {
		return 0
	}
	return time.Duration(float64(recordings) * p.meanSize / p.rate * float64(time.Second))
}
