package service

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The faults that can be asked for, each with what it does; docs/service.md
// explains them.
const (
	faultTooMany   = "429"       // 429 with an empty HTML body
	faultBadGate   = "502"       // a page of a proxy
	faultDown      = "503"       // a page of a proxy
	faultReset     = "reset"     // the connection is reset
	faultTruncate  = "truncate"  // the body ends in its middle
	faultLength    = "length"    // Content-Length is smaller than the body
	faultNoHeaders = "noheaders" // no RateLimit-* headers
	faultLate      = "late"      // content is null, then 404, then empty, then there
	faultRepeat    = "repeat"    // a page begins with the last meeting of the one before
	faultCursor    = "cursor"    // a valid cursor is refused
	faultDuplicate = "duplicate" // a webhook is sent twice
	faultReorder   = "reorder"   // a webhook is sent after later ones
	faultExpire    = "expire"    // a media link is refused before its time
	faultFail      = "fail"      // a download fails: generation_failed
	faultTimeout   = "timeout"   // a download fails: generation_timeout
	faultReady     = "ready"     // a repeated request for a video is completed at once
	faultAbsent    = "absent"    // keys of an item are absent where they are null
	faultShare     = "share"     // an item lacks share_url
	faultTeam      = "team"      // recorded_by.team is null
	faultTwice     = "twice"     // an item is twice in a page
	faultLimit     = "limit"     // the limit of a page is null
	faultEnd       = "end"       // next_cursor of the last page is absent, or ""
	faultKeys      = "keys"      // a page has other keys at its top
	faultDate      = "date"      // Retry-After is a date
	faultFlags     = "flags"     // a webhook with include_highlights is refused
	faultBare      = "bare"      // a callback does not name its recording
)

func faultNames() []string {
	return []string{faultTooMany, faultBadGate, faultDown, faultReset, faultTruncate, faultLength, faultNoHeaders, faultLate,
		faultRepeat, faultCursor, faultDuplicate, faultReorder, faultExpire, faultFail, faultTimeout,
		faultReady, faultAbsent, faultShare, faultTeam, faultTwice, faultLimit, faultEnd, faultKeys, faultDate, faultFlags, faultBare}
}

// faults decides what goes wrong. Each decision is drawn from the seed, the
// fault's name, what it is about and how often that was asked before, so the
// same calls meet the same faults in every run, whatever runs beside them.
type faults struct {
	seed  int64
	rates map[string]float64

	mu    sync.Mutex // guards asked
	asked map[string]int
}

// maxAsked bounds the memory of what was asked; beyond it counting starts over.
const maxAsked = 100_000

// parseFaults reads "name=rate,…" with rates from 0 to 1, and "seed=integer".
// The empty text is no faults.
func parseFaults(spec string) (*faults, error) {
	f := &faults{rates: map[string]float64{}, asked: map[string]int{}}
	if strings.TrimSpace(spec) == "" {
		return f, nil
	}
	names := faultNames()
	for _, item := range strings.Split(spec, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(item), "=")
		if !found {
			return nil, fmt.Errorf("read faults: %q is not of the form name=rate", item)
		}
		if name == "seed" {
			seed, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read faults: seed %q is not an integer", value)
			}
			f.seed = seed
			continue
		}
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("read faults: %q is unknown; there are seed, %s", name, strings.Join(names, ", "))
		}
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("read faults: rate %q of %s is not a number from 0 to 1", value, name)
		}
		f.rates[name] = rate
	}
	return f, nil
}

// roll decides whether a fault happens to what key names, this time.
func (f *faults) roll(name, key string) bool {
	rate := f.rates[name]
	if rate == 0 {
		return false
	}
	return f.draw(name, key, f.count(name+" "+key)) < rate
}

// fixed decides once and for ever.
func (f *faults) fixed(name, key string) bool {
	rate := f.rates[name]
	return rate != 0 && f.draw(name, key, 0) < rate
}

// count says how often a key was counted before.
func (f *faults) count(key string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) >= maxAsked {
		clear(f.asked)
	}
	n := f.asked[key]
	f.asked[key] = n + 1
	return n
}

// draw is a number from 0 to below 1.
func (f *faults) draw(name, key string, n int) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s/%d", f.seed, name, key, n))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / math.Exp2(53)
}

// generation says how a download fails; "" for not at all.
func (f *faults) generation(id int64) string {
	key := strconv.FormatInt(id, 10)
	switch {
	case f.roll(faultFail, key):
		return "generation_failed"
	case f.roll(faultTimeout, key):
		return "generation_timeout"
	}
	return ""
}
