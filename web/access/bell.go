package access

import "sync"

// bell wakes those who follow changes.
type bell struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

func newBell() *bell { return &bell{next: make(chan struct{})} }

// ring wakes everybody who waits.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of a person or an account.
func (d *DB) Changed() <-chan struct{} {
	d.bell.mu.Lock()
	defer d.bell.mu.Unlock()
	return d.bell.next
}
