package years

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// firstReads are the lists that the program was answered: meetings of before the first read of all
// lists that show them are history to its webhooks.
type firstReads struct {
	mu        sync.Mutex
	at        map[string]time.Time      // by list
	lists     map[int64]map[string]bool // by the meetings that they showed
	delivered map[int64]bool            // meetings, which are no history
}

func newFirstReads() *firstReads {
	return &firstReads{at: map[string]time.Time{}, lists: map[int64]map[string]bool{}, delivered: map[int64]bool{}}
}

// note notes an answer to the call of a list, and the meetings that it showed.
func (f *firstReads) note(k call, shown []object) {
	q := k.r.URL.Query()
	list := fmt.Sprint(k.credential, slices.Sorted(slices.Values(q["recorded_by[]"])), slices.Sorted(slices.Values(q["teams[]"])))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at[list].IsZero() {
		f.at[list] = k.sent
	}
	for _, m := range shown {
		id, err := strconv.ParseInt(string(m["recording_id"]), 10, 64)
		if err != nil {
			continue
		}
		if f.lists[id] == nil {
			f.lists[id] = map[string]bool{}
		}
		f.lists[id][list] = true
	}
}

// deliver notes that a meeting was delivered, or may have been.
func (f *firstReads) deliver(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delivered[id] = true
}

// isHistory reports whether a meeting was recorded before the first read of all lists that showed it.
// The program takes the time of a call from its beginning, by the service's clock.
func (f *firstReads) isHistory(m *meeting) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first time.Time
	for list := range f.lists[m.id] {
		if at := f.at[list]; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return !f.delivered[m.id] && m.created.Before(first.Add(-3*time.Minute))
}
