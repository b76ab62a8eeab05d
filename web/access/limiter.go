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
	attemptsBySite       = 200
	attemptEveryBySite   = 1500 * time.Millisecond
	attemptsByName       = 10
	attemptEveryByName   = time.Minute
)

// siteBits are the bits of an IPv6 address that a site has in common: an office, or
// whoever got a /48, the largest that a connection gets.
const siteBits = 48

// limiterSlots is the number of clients, of sites, and of names, that are distinguished.
// With more of them some share their attempts; the memory stays the same, about 8 MB.
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

	mu       sync.Mutex // guards the rest
	tries    origins    // of passwords
	failures origins    // without a name: nobody shuts passkeys by trying passwords
	names    slots
	regulars map[uint64]*rate.Limiter // by browser and name: of those who have signed in
}

// slots have the limiters of clients, sites or names, nil where none has tried yet.
type slots [limiterSlots]*rate.Limiter

// origins are where attempts come from.
type origins struct{ clients, sites slots }

// NewLimiter returns a limiter that counts nothing yet.
func NewLimiter(now func() time.Time) *Limiter {
	return &Limiter{now: now, seed: maphash.MakeSeed(), regulars: map[uint64]*rate.Limiter{}}
}

// Charge has the buckets from which an attempt was taken: those of the site, the client and
// the name, or none, since it was the browser's own.
type Charge []bucket

// Attempt counts an attempt and returns 0 when it may be made, or how long to wait
// for the next one. A client is an IPv4 address, or the network of an IPv6 address
// (/64), since one machine has all addresses of that; the networks of a site (/48) share
// ten times as many attempts, so that no site uses up those of everybody. browser is the
// secret that [Limiter.Succeed] was given with this browser's last sign-in, "" without one.
// Succeed takes the charge.
func (l *Limiter) Attempt(client netip.Addr, name, browser string) (Charge, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	charge := append(l.bucketsAt(&l.tries, client), bucket{&l.names[l.slot(api.FoldEmail(name))], attemptEveryByName, attemptsByName})
	known := l.regulars[l.regular(name, browser)]
	if known != nil {
		charge = Charge{{&known, attemptEveryByName, attemptsByName}}
	}
	if wait := charge.wait(l.now()); wait > 0 {
		return nil, wait // and who may not try a name loses no attempt at others
	}
	charge.take(l.now())
	if known != nil {
		return nil, 0
	}
	return charge, 0
}

// Succeed gives the attempt of a sign-in back to the buckets from which it was taken, and
// remembers the browser, by the secret that it gets now in the place of its former one, as
// one of the name's own. Others learn nothing of it: the name has as many attempts left as
// before.
func (l *Limiter) Succeed(c Charge, name, former, browser string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.regulars, l.regular(name, former))
	for _, b := range c {
		b.giveBack(l.now())
	}
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
	return l.bucketsAt(&l.failures, client).wait(l.now())
}

// Fail counts a failure of a client that gave no name.
func (l *Limiter) Fail(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.bucketsAt(&l.failures, client); c.wait(l.now()) == 0 {
		c.take(l.now())
	}
}

// bucketsAt returns the buckets of a client and its site.
func (l *Limiter) bucketsAt(o *origins, client netip.Addr) Charge {
	network := httpserver.Network(client.Unmap())
	return Charge{
		{&o.sites[l.slot(Site(network).String())], attemptEveryBySite, attemptsBySite},
		{&o.clients[l.slot(network.String())], attemptEveryByClient, attemptsByClient},
	}
}

// Site returns the site of a client: an IPv4 address, or the /48 of an IPv6 address. The
// zero Addr, of a peer without an address, has the zero Prefix.
func Site(client netip.Addr) netip.Prefix {
	site, err := client.Unmap().Prefix(min(siteBits, client.Unmap().BitLen()))
	if err != nil {
		return netip.Prefix{}
	}
	return site
}

// regular returns the key of a name in a browser. It has no slot, which others would share
// who have never signed in.
func (l *Limiter) regular(name, browser string) uint64 {
	return maphash.String(l.seed, browser+" "+api.FoldEmail(name))
}

func (l *Limiter) slot(key string) uint64 { return maphash.String(l.seed, key) % limiterSlots }

// bucket is a slot with its limits.
type bucket struct {
	limiter **rate.Limiter
	every   time.Duration
	burst   int
}

// wait returns how long it takes until all buckets have an attempt left.
func (c Charge) wait(now time.Time) (longest time.Duration) {
	for _, b := range c {
		if *b.limiter == nil {
			continue
		}
		if missing := 1 - (*b.limiter).TokensAt(now); missing > 0 {
			longest = max(longest, 1, time.Duration(missing*float64(b.every)))
		}
	}
	return longest
}

// take takes an attempt from each bucket.
func (c Charge) take(now time.Time) {
	for _, b := range c {
		if *b.limiter == nil {
			*b.limiter = rate.NewLimiter(rate.Every(b.every), b.burst)
		}
		(*b.limiter).AllowN(now, 1)
	}
}

// giveBack gives an attempt back.
func (b bucket) giveBack(now time.Time) {
	if *b.limiter == nil {
		return
	}
	left := min(b.burst, int((*b.limiter).TokensAt(now))+1)
	*b.limiter = rate.NewLimiter(rate.Every(b.every), b.burst)
	(*b.limiter).ReserveN(now, b.burst-left)
}
