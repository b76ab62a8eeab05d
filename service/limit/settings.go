// Package limit counts calls and refuses those beyond a limit (specification,
// section 8). A [Limiter] counts by caller and by [Class]; [Settings] say how many
// calls of each class a window holds and which kind of [Window] it is.
//
// It promises exactness for both kinds of window: a caller never gets more calls
// than the limit, a refused call is counted nowhere, and a call that is repeated
// after [Quota.Retry] passes. Counts live in memory, so a crash or a restart
// begins them anew.
package limit

import (
	"cmp"
	"fmt"
	"time"
)

// windowLength is the length of every limit's window (section 8).
const windowLength = 60 * time.Second

// Window is the kind of window in which calls are counted; section 8 leaves it open.
type Window string

const (
	// Fixed counts from a caller's first call until 60 s later, then afresh.
	Fixed Window = "fixed"
	// Sliding counts the calls of the last 60 s at every moment.
	Sliding Window = "sliding"
)

// Class is one of the budgets of section 8.
type Class int

// The classes. One call can belong to several.
const (
	Global Class = iota
	Heavy
	Download
	Token
	classes
)

// Settings are the limits that can be changed while running. A number that is 0
// is the one of section 8; others are from 1 to [Most].
type Settings struct {
	Global        int    `json:"global"`         // calls in 60 s
	Heavy         int    `json:"heavy"`          // heavy calls in 60 s
	Elevated      bool   `json:"elevated"`       // the heavy limit is 5, whatever heavy says
	DownloadLimit int    `json:"download_limit"` // download requests in 60 s
	Window        Window `json:"window"`         // fixed or sliding; empty means fixed
}

// Most is the largest number that a limit can have.
const Most = 100_000

// The limits of section 8.
const (
	globalLimit   = 60
	heavyLimit    = 30
	elevatedLimit = 5 // of heavy calls during elevated activity
	downloadLimit = 30
	tokenLimit    = 60
)

// withDefaults returns s with the limits of section 8 in place of zeros.
func (s Settings) withDefaults() Settings {
	s.Global, s.Heavy = cmp.Or(s.Global, globalLimit), cmp.Or(s.Heavy, heavyLimit)
	s.DownloadLimit, s.Window = cmp.Or(s.DownloadLimit, downloadLimit), cmp.Or(s.Window, Fixed)
	return s
}

// Check fails when a limit of s is out of range or its window is unknown.
func (s Settings) Check() error {
	s = s.withDefaults()
	for _, limit := range []int{s.Global, s.Heavy, s.DownloadLimit} {
		if limit < 1 || limit > Most {
			return fmt.Errorf("limit %d is not from 1 to 100,000", limit)
		}
	}
	if s.Window != Fixed && s.Window != Sliding {
		return fmt.Errorf("choose window %q: it is fixed or sliding", s.Window)
	}
	return nil
}
