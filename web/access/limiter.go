package access

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"minutebook/api"
	"minutebook/internal/httpserver"
)

// How often a sign-in can be tried: so many times at once, and then once in a
// while.
const (
	attemptsByClient     = 20
	attemptEveryByClient = 15 * time.Second
	attemptsByName       = 10
	attemptEveryByName   = time.Minute
)

// limiterSlots is the number of clients, and of names, that are distinguished. With
// more of them some share their attempts; the memory stays the same, about 3 MB.
const limiterSlots = 1 << 14

// maxRegulars is the number of names, each in a browser, that are remembered to have signed
// in: about 8 MB. One more replaces any of them, which is limited as at first then.
const maxRegulars = 1 << 16

// Limiter limits how often a sign-in is tried, by the client's network address and
// by the name that is tried, whether anybody has it or not. A name has attempts of
// its own in each browser in which it has signed in: nobody is locked out by somebody
// elsewhere who keeps trying the name, nor by others of the same office, whose
// computers have one address. Such a browser is known by a secret of its own, since a
// stranger at the same address would learn by the attempts left which names have signed in
// there. A sign-in that succeeds gives its attempts back, so that an office in the morning
// is limited by its mistakes alone. Nothing is kept between two runs of the program. It is
// safe for concurrent use.
type Limiter struct {
	now  func() time.Time
	seed maphash.Seed // unknown to others, so that nobody chooses whose slot to share

	mu       sync.Mutex // guards the slots
	clients  [limiterSlots]*rate.Limiter
	names    [limiterSlots]*rate.Limiter
	regulars map[uint64]*rate.Limiter // by browser and name: of those who have signed in
}

// NewLimiter returns a limiter that counts nothing yet.
func NewLimiter(now func() time.Time) *Limiter {
	return &Limiter{now: now, seed: maphash.MakeSeed(), regulars: map[uint64]*rate.Limiter{}}
}

// Charge says in which slots an attempt was counted: in those of the client and the name,
// or in neither, since it was the browser's own.
type Charge struct{ client, name **rate.Limiter }

// Attempt counts an attempt and returns 0 when it may be made, or how long to wait
// for the next one. A client is an IPv4 address, or the network of an IPv6 address
// (/64), since one machine has all addresses of that. browser is the secret that
// [Limiter.Succeed] was given with this browser's last sign-in, "" without one. Succeed
// takes the charge.
func (l *Limiter) Attempt(client netip.Addr, name, browser string) (c Charge, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.regulars[l.regular(name, browser)]; known != nil {
		return c, take(&known, l.now(), attemptEveryByName, attemptsByName)
	}
	c = Charge{l.ofClient(client), l.ofName(name)}
	if wait = take(c.client, l.now(), attemptEveryByClient, attemptsByClient); wait > 0 {
		return c, wait // and the name is not blocked by who may not try any more
	}
	return c, take(c.name, l.now(), attemptEveryByName, attemptsByName)
}

// Succeed gives the attempt of a sign-in back to the slots that it was counted in, and
// remembers the browser, by the secret that it gets now in the place of its former one, as
// one of the name's own. Others learn nothing of it: the name has as many attempts left as
// before.
func (l *Limiter) Succeed(c Charge, name, former, browser string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.regulars, l.regular(name, former))
	giveBack(c.client, l.now(), attemptEveryByClient, attemptsByClient)
	giveBack(c.name, l.now(), attemptEveryByName, attemptsByName)
	for other := range l.regulars {
		if len(l.regulars) < maxRegulars {
			break
		}
		delete(l.regulars, other)
	}
	l.regulars[l.regular(name, browser)] = rate.NewLimiter(rate.Every(attemptEveryByName), attemptsByName)
}

// Wait returns 0 when a client may try to sign in without a name, by a passkey or at
// a provider, or how long to wait. Only failures count: see [Limiter.Fail].
func (l *Limiter) Wait(client netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := *l.ofClient(client)
	if limiter == nil || limiter.TokensAt(l.now()) >= 1 {
		return 0
	}
	return attemptEveryByClient
}

// Fail counts a failure of a client that gave no name.
func (l *Limiter) Fail(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	take(l.ofClient(client), l.now(), attemptEveryByClient, attemptsByClient)
}

func (l *Limiter) ofClient(client netip.Addr) **rate.Limiter {
	return &l.clients[l.slot(httpserver.Network(client.Unmap()).String())]
}

func (l *Limiter) ofName(name string) **rate.Limiter { return &l.names[l.slot(api.FoldEmail(name))] }

// regular returns the key of a name in a browser. It has no slot, which others would share
// who have never signed in.
func (l *Limiter) regular(name, browser string) uint64 {
	return maphash.String(l.seed, browser+" "+api.FoldEmail(name))
}

func (l *Limiter) slot(key string) uint64 { return maphash.String(l.seed, key) % limiterSlots }

// take takes one attempt from a slot, or returns when there will be one.
func take(slot **rate.Limiter, now time.Time, interval time.Duration, burst int) (wait time.Duration) {
	if *slot == nil {
		*slot = rate.NewLimiter(rate.Every(interval), burst)
	}
	r := (*slot).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// giveBack gives an attempt back to a slot; nil: it was counted in none.
func giveBack(slot **rate.Limiter, now time.Time, every time.Duration, burst int) {
	if slot == nil || *slot == nil {
		return
	}
	left := min(burst, int((*slot).TokensAt(now))+1)
	*slot = rate.NewLimiter(rate.Every(every), burst)
	(*slot).ReserveN(now, burst-left)
}
