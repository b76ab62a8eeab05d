package years

import (
	"math"
	"time"
)

// calmCalls are the calls that each credential had made at a quiet time.
type calmCalls struct {
	at    time.Time
	calls map[string]map[string]int // by credential and class
}

// noteCalls notes the calls that were made until now.
func (w *world) noteCalls() {
	w.calmSince = calmCalls{time.Now(), map[string]map[string]int{}}
	for _, a := range w.config.accounts {
		w.calmSince.calls[w.credentialOf(a)] = w.upstream.count.byClass(w.credentialOf(a))
	}
}

// checkWaste compares the calls of each account since the last quiet time with those that calm nights
// need, in which nothing at the service changes: its lists are read, a page of the newest content,
// the directory, and within a month each meeting's content once or, where two months meet, twice.
func (w *world) checkWaste() {
	nights := int(math.Ceil(time.Since(w.calmSince.at).Hours() / 24))
	for _, a := range w.config.accounts {
		key := w.credentialOf(a)
		before, calls := w.calmSince.calls[key], w.upstream.count.byClass(key)
		if before == nil || !w.works(a) {
			continue
		}
		listed, mute, lists := 0, 0, 1+min(len(a.teams), 1)+min(len(a.recordedBy), 1)
		for _, m := range w.org.meetings {
			if w.isListed(a, m) {
				listed++
			}
			if m.isMute {
				mute++ // its summary may be awaited
			}
		}
		pages := listed/10 + 1
		rereads := 2 * lists * (pages + 1)
		if a.oauth {
			rereads = 2 * 2 * listed
		}
		directory := 4 + 2*(len(w.org.teams)+1)
		enough := map[string]int{"heavy": nights*lists + rereads + 3*mute + 10}
		if w.lacksForGood(a.email) {
			enough["heavy"] += 2 * listed // its content is read alone
		}
		enough["global"] = nights*(lists*(pages+3)+directory) + enough["heavy"]
		for class, most := range enough {
			if n := calls[class] - before[class]; n > most {
				w.fail("in %d calm nights account %s made %d %s calls, and %d are enough for %d meetings in %d lists", nights, a.name, n, class, most, listed, lists)
			}
		}
	}
}
