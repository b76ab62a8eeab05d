package api

import "errors"

// ErrEndless reports a list that shows the same items again and again under new cursors.
var ErrEndless = errors.New("the list never ends: its pages repeat what earlier ones showed")

const (
	// spareRepeats is the number of pages without anything new that a list may have
	// besides one for each page with something new.
	spareRepeats = 100
	maxItems     = 100_000   // of a page
	maxListed    = 1_000_000 // of a directory list
)

// Progress notices a list that never ends although each of its cursors is new. A list
// may repeat items, such as meetings that are visible in two ways, and its pages may
// be empty; but not for ever. The zero value is ready for the first page.
type Progress struct{ fresh, repeated int }

// Note counts a page, with something new or without. It fails with [ErrEndless] when
// the list repeats itself more than a list with an end does.
func (p *Progress) Note(hasNew bool) error {
	if hasNew {
		p.fresh++
		return nil
	}
	if p.repeated++; p.repeated > p.fresh+spareRepeats {
		return ErrEndless
	}
	return nil
}
