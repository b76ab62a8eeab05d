package syncer

import (
	"fmt"
	"time"

	"minutebook/api"
)

const (
	// boundMargin widens a window on both sides. Whether created_after and
	// created_before are inclusive is not documented, and reading a meeting twice
	// changes nothing.
	boundMargin = time.Second
	// minSplit is the length of the shortest window that halving makes.
	minSplit = time.Hour
)

// window is a period of created_at with its own cursor. It is a mark, written
// together with each page, so that it always says exactly which pages were
// applied.
type window struct {
	N        int       `json:"n"`
	After    time.Time `json:"after,omitzero"`  // zero: from the beginning
	Before   time.Time `json:"before,omitzero"` // zero: no end
	Cursor   string    `json:"cursor,omitempty"`
	Anchor   string    `json:"anchor,omitempty"` // an earlier cursor, to notice a loop
	Pages    int       `json:"pages,omitempty"`
	Restarts int       `json:"restarts,omitempty"`
	Done     bool      `json:"done,omitempty"`
	// Asked is when the first page was requested, by the service's clock.
	Asked      time.Time `json:"asked,omitzero"`
	Unreadable int       `json:"unreadable,omitempty"` // items that are no meetings
}

// bounds returns the window's created_after and created_before.
func (w window) bounds() (after, before time.Time) {
	after, before = w.After, w.Before
	if !after.IsZero() {
		after = after.Add(-boundMargin)
	}
	if !before.IsZero() {
		before = before.Add(boundMargin)
	}
	return after, before
}

// advanced returns the window after a page with the cursor next. It fails with
// [api.ErrCursorLoop], which counts as a refused cursor, if the cursors repeat: the
// list would be read for ever. By Brent's algorithm it remembers one cursor only, and
// notices within three times as many pages as the loop and the pages before it have.
func (w window) advanced(next string) (window, error) {
	if next != "" && (next == w.Cursor || next == w.Anchor) {
		return w, fmt.Errorf("read window %d: %w", w.N, api.ErrCursorLoop)
	}
	w.Cursor, w.Pages, w.Done = next, w.Pages+1, next == ""
	if w.Pages&(w.Pages-1) == 0 {
		w.Anchor = next
	}
	return w, nil
}

// progress notices a window that never ends because its pages list the same meetings
// again under new cursors.
type progress struct {
	api.Progress
	seen map[int64]bool // the items that were listed since the window's beginning or this run's
}

func newProgress() *progress { return &progress{seen: map[int64]bool{}} }

// note counts a page. It fails with [api.ErrEndless].
func (p *progress) note(page *meetingsPage) error {
	known := len(p.seen)
	for _, item := range page.listed {
		p.seen[item] = true
	}
	return p.Note(len(p.seen) > known)
}

// restarted returns the windows that replace one whose cursor was refused:
// itself from its start or, from the second time on, two halves, so that
// windows that outlive the service's cursors come to an end. free is an unused
// number.
func (w window) restarted(free int, now time.Time) []window {
	fresh := window{N: w.N, After: w.After, Before: w.Before, Restarts: w.Restarts + 1}
	after, before := later(w.After, earliestMeeting()), w.Before
	if before.IsZero() {
		before = now
	}
	if fresh.Restarts < 2 || before.Sub(after) < 2*minSplit {
		return []window{fresh}
	}
	middle := after.Add(before.Sub(after) / 2).Truncate(time.Second)
	newer := window{N: w.N, After: middle, Before: w.Before}
	older := window{N: free, After: w.After, Before: middle}
	return []window{newer, older}
}

// earliestMeeting is a time before any meeting of such a service.
func earliestMeeting() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }
