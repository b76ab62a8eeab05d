package access

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"minutebook/api"
)

// How often a sign-in can be tried: so many times at once, and then once in a
// while.
const (
	attemptsByClient     = 20
	attemptEveryByClient = 15 * time.Second
	attemptsByName       = 10
	attemptEveryByName   = time.Minute
)

// limiterSlots is the number of clients, and of names, that are told apart. With
// more of them some share their attempts; the memory stays the same, about 2 MB.
const limiterSlots = 1 << 14

// Limiter limits how often a sign-in is tried, by the client's network address and
// by the name that is tried, whether anybody has it or not. Nothing is kept
// between two runs of the program. It is safe for concurrent use.
type Limiter struct {
	now  func() time.Time
	seed maphash.Seed // unknown to others, so that nobody chooses whose slot to share

	mu      sync.Mutex // guards the slots
	clients [limiterSlots]*rate.Limiter
	names   [limiterSlots]*rate.Limiter
}

// NewLimiter returns a limiter that counts nothing yet.
func NewLimiter(now func() time.Time) *Limiter {
	return &Limiter{now: now, seed: maphash.MakeSeed()}
}

// Attempt counts an attempt and returns 0 when it may be made, or how long to wait
// for the next one. A client is an IPv4 address, or the network of an IPv6 address
// (/64), since one machine has all addresses of that.
func (l *Limiter) Attempt(client netip.Addr, name string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if client = client.Unmap(); client.Is6() {
		network, _ := client.WithZone("").Prefix(64) // cannot fail for an IPv6 address
		client = network.Addr()
	}
	byClient := take(&l.clients[l.slot(client.String())], now, attemptEveryByClient, attemptsByClient)
	if byClient > 0 {
		return byClient // and the name is not blocked by who may not try any more
	}
	return take(&l.names[l.slot(api.FoldEmail(name))], now, attemptEveryByName, attemptsByName)
}

// Succeed forgets the attempts on a name, after a sign-in under it.
func (l *Limiter) Succeed(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[l.slot(api.FoldEmail(name))] = nil
}

func (l *Limiter) slot(key string) uint64 { return maphash.String(l.seed, key) % limiterSlots }

// take takes one attempt from a slot, or returns when there will be one.
func take(slot **rate.Limiter, now time.Time, every time.Duration, burst int) (wait time.Duration) {
	if *slot == nil {
		*slot = rate.NewLimiter(rate.Every(every), burst)
	}
	r := (*slot).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
