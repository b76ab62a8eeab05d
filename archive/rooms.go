package archive

import "context"

// rooms lists what Open opens after the archive itself, in this order: parts of
// the archive that have files or goroutines of their own. What they must end is
// given to onClose; databases opened with SideDB are closed after all of that.
func rooms() []func(context.Context, *Archive) error {
	return []func(context.Context, *Archive) error{inboxRoom}
}

// onClose has Close call fn, in the reverse order of these calls, before it
// closes any database.
func (a *Archive) onClose(fn func() error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closers = append(a.closers, fn)
}
