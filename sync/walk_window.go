package syncer

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// edge widens a window on both sides: whether created_after and
	// created_before are inclusive is not documented, and reading a meeting twice
	// changes nothing.
	boundMargin = time.Second
	// thinnest is the length below which a window is not halved any more.
	minSplit = time.Hour
)

// window is one stretch of created_at with a cursor of its own. It is written as
// a mark together with each page, so that it always says exactly what has been
// applied.
type window struct {
	N        int       `json:"n"`
	After    time.Time `json:"after,omitzero"`  // zero: from the beginning
	Before   time.Time `json:"before,omitzero"` // zero: no end
	Cursor   string    `json:"cursor,omitempty"`
	Pages    int       `json:"pages,omitempty"`
	Restarts int       `json:"restarts,omitempty"`
	Done     bool      `json:"done,omitempty"`
	// Asked is when, by the service's clock, the first page was asked for.
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

// advance is the window after a page whose next cursor is next. A service that
// answers with the cursor it was sent would be read for ever: that is an error,
// treated as a refused cursor.
func (w window) advanced(next string) (window, error) {
	if next != "" && next == w.Cursor {
		return w, fmt.Errorf("read window %d: the next cursor is the one that was sent", w.N)
	}
	w.Cursor, w.Pages, w.Done = next, w.Pages+1, next == ""
	return w, nil
}

// restart is what takes the place of a window whose cursor was refused: itself
// from its start, and from the second time on two halves, so that a cursor that
// lives shorter than a window takes to read does not keep it from ending. free
// is an unused number.
func (w window) restarted(free int, now time.Time) []window {
	again := window{N: w.N, After: w.After, Before: w.Before, Restarts: w.Restarts + 1}
	after, before := later(w.After, earliestMeeting()), w.Before
	if before.IsZero() {
		before = now
	}
	if again.Restarts < 2 || before.Sub(after) < 2*minSplit {
		return []window{again}
	}
	middle := after.Add(before.Sub(after) / 2).Truncate(time.Second)
	newer := window{N: w.N, After: middle, Before: w.Before}
	older := window{N: free, After: w.After, Before: middle}
	return []window{newer, older}
}

// earliest is before any meeting of any such service.
func earliestMeeting() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func (w window) encode() []byte {
	b, err := json.Marshal(w)
	if err != nil {
		panic("encode window: " + err.Error()) // times of this era always encode
	}
	return b
}

func decodeWindow(b []byte) (window, error) {
	var w window
	if err := json.Unmarshal(b, &w); err != nil {
		return window{}, fmt.Errorf("read a window's mark: %w", err)
	}
	return w, nil
}
