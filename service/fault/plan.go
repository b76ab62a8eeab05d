// Package fault makes the answers of the sandbox go wrong on purpose, in ways that
// real services were seen to. A [Plan] decides which fault happens to which call:
// [Parse] reads it from the text of --faults, [Plan.Handler] damages answers of
// any handler by it, and the service asks [Plan.Roll] for the faults that belong
// to one of its own steps.
//
// It promises that the same calls meet the same faults in every run with the same
// seed, whatever runs beside them. It keeps nothing on disk.
//
//	plan.go   the kinds of faults, their grammar, and the drawing of them
//	http.go   answers that are refused, cut off, or shorter than they say
//	lists.go  lists in the other forms that services send
package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"minutebook/api"
)

// Kind is a fault, by its name.
type Kind string

// The faults that can be asked for, by their names in docs/service.md.
const (
	TooMany     Kind = "429"       // 429 with an empty HTML body
	BadGateway  Kind = "502"       // a page of a proxy
	Unavailable Kind = "503"       // a page of a proxy
	Reset       Kind = "reset"     // the connection is reset
	Truncate    Kind = "truncate"  // the body ends in its middle
	Length      Kind = "length"    // Content-Length is smaller than the body
	NoHeaders   Kind = "noheaders" // no RateLimit-* headers
	Late        Kind = "late"      // content comes after null, 404 and nothing
	Repeat      Kind = "repeat"    // a page begins with the last meeting of the one before
	Cursor      Kind = "cursor"    // a valid cursor is refused
	Duplicate   Kind = "duplicate" // a webhook is sent twice
	Reorder     Kind = "reorder"   // a webhook is sent after later ones
	Expire      Kind = "expire"    // a media link is refused before its time
	Fail        Kind = "fail"      // a download fails: generation_failed
	Timeout     Kind = "timeout"   // a download fails: generation_timeout
	Ready       Kind = "ready"     // a repeated request for a video is completed at once
	Absent      Kind = "absent"    // keys of an item are absent where they are null
	Share       Kind = "share"     // an item lacks share_url
	Team        Kind = "team"      // recorded_by.team is null
	Twice       Kind = "twice"     // an item is twice in a page
	Limit       Kind = "limit"     // the limit of a page is null
	End         Kind = "end"       // next_cursor of the last page is absent, or ""
	Keys        Kind = "keys"      // a page has other keys at its top
	Date        Kind = "date"      // Retry-After is a date
	Flags       Kind = "flags"     // a webhook with include_highlights is refused
	Bare        Kind = "bare"      // a callback does not name its recording
)

// kinds returns all of them.
func kinds() []Kind {
	return []Kind{TooMany, BadGateway, Unavailable, Reset, Truncate, Length, NoHeaders, Late,
		Repeat, Cursor, Duplicate, Reorder, Expire, Fail, Timeout,
		Ready, Absent, Share, Team, Twice, Limit, End, Keys, Date, Flags, Bare}
}

// Plan decides which calls go wrong. Each decision is drawn from the seed, the
// kind of fault, the key of the thing it is about, and how often that was asked
// before.
type Plan struct {
	seed  int64
	rates map[Kind]float64

	mu    sync.Mutex // guards asked
	asked map[string]int
}

// maxAsked bounds the memory of keys; beyond it counting starts over.
const maxAsked = 100_000

// Parse reads "name=rate,…" with rates from 0 to 1, and "seed=integer". The empty
// text is a plan without faults.
func Parse(spec string) (*Plan, error) {
	p := &Plan{rates: map[Kind]float64{}, asked: map[string]int{}}
	if strings.TrimSpace(spec) == "" {
		return p, nil
	}
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
			p.seed = seed
			continue
		}
		if !slices.Contains(kinds(), Kind(name)) {
			return nil, fmt.Errorf("read faults: %q is unknown; there are seed and %v", name, kinds())
		}
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("read faults: rate %q of %s is not a number from 0 to 1", value, name)
		}
		p.rates[Kind(name)] = rate
	}
	return p, nil
}

// Roll decides whether a fault happens to the thing that key names, this time.
func (p *Plan) Roll(kind Kind, key string) bool {
	rate := p.rates[kind]
	if rate == 0 {
		return false
	}
	return p.draw(kind, key, p.count(string(kind)+" "+key)) < rate
}

// isChosen decides once and for ever whether a fault happens to a thing.
func (p *Plan) isChosen(kind Kind, key string) bool {
	rate := p.rates[kind]
	return rate != 0 && p.draw(kind, key, 0) < rate
}

// count returns how often a key was counted before.
func (p *Plan) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) >= maxAsked {
		clear(p.asked)
	}
	n := p.asked[key]
	p.asked[key] = n + 1
	return n
}

// draw returns a number from 0 to below 1.
func (p *Plan) draw(kind Kind, key string, n int) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s/%d", p.seed, kind, key, n))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / math.Exp2(53)
}

// RollFor is Roll about a recording.
func (p *Plan) RollFor(kind Kind, recordingID int64) bool {
	return p.Roll(kind, strconv.FormatInt(recordingID, 10))
}

// Generation returns the failure_reason of a download of a recording, "" when it
// does not fail.
func (p *Plan) Generation(recordingID int64) string {
	switch {
	case p.RollFor(Fail, recordingID):
		return api.GenerationFailed
	case p.RollFor(Timeout, recordingID):
		return api.GenerationTimeout
	}
	return ""
}

// Lateness is how content that is late is answered.
type Lateness int

// The first three reads of late content find it in these forms, in this order.
const (
	InTime Lateness = iota
	Null
	Missing
	Empty
)

// LateRead decides how a read of one part of a recording is answered.
func (p *Plan) LateRead(recordingID int64, part api.Part) Lateness {
	id := strconv.FormatInt(recordingID, 10)
	if p.isChosen(Late, id) {
		if n := p.count("late read " + id + string(part)); n < 3 {
			return Null + Lateness(n)
		}
	}
	return InTime
}

// LateInList decides whether a list shows a recording without its content; it does
// so three times.
func (p *Plan) LateInList(recordingID int64) bool {
	id := strconv.FormatInt(recordingID, 10)
	return p.isChosen(Late, id) && p.count("late list "+id) < 3
}
