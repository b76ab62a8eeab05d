package access

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wantAttempts fails the test unless exactly n attempts can be made now.
func wantAttempts(t *testing.T, l *Limiter, action, client string, name func(i int) string, n int) {
	t.Helper()
	wantAttemptsIn(t, l, action, client, "", name, n)
}

func wantAttemptsIn(t *testing.T, l *Limiter, action, client, browser string, name func(i int) string, n int) {
	t.Helper()
	for i := range n {
		if _, wait := l.Attempt(netip.MustParseAddr(client), name(i), browser); wait != 0 {
			t.Fatalf("%s: attempt %d of %d has to wait %v", action, i+1, n, wait)
		}
	}
	if _, wait := l.Attempt(netip.MustParseAddr(client), name(n), browser); wait <= 0 {
		t.Fatalf("%s: more than %d attempts", action, n)
	}
}

func alwaysName(name string) func(int) string { return func(int) string { return name } }

func personAddress(i int) string { return fmt.Sprintf("p%d@example.com", i) }

func TestAttemptsAreLimitedByClient(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	wantAttempts(t, l, "at first", "192.0.2.1", personAddress, attemptsByClient)
	wantAttempts(t, l, "in the form of IPv6", "::ffff:192.0.2.1", personAddress, 0)
	wantAttempts(t, l, "another client", "192.0.2.2", personAddress, attemptsByClient)
	now = now.Add(attemptEveryByClient)
	wantAttempts(t, l, "a while later", "192.0.2.1", func(int) string { return "q@example.com" }, 1)
	now = now.Add(-time.Hour)
	wantAttempts(t, l, "the clock is set back", "192.0.2.1", alwaysName("r@example.com"), 0)
	now = now.Add(24 * time.Hour)
	wantAttempts(t, l, "the next day", "192.0.2.1", personAddress, attemptsByClient)

	wantAttempts(t, l, "IPv6", "2001:db8::1", personAddress, attemptsByClient)
	wantAttempts(t, l, "of the same network", "2001:db8::ffff:1", personAddress, 0)
	wantAttempts(t, l, "with a zone", "fe80::1%eth0", alwaysName("x@example.com"), attemptsByName)
}

func TestAttemptsAreLimitedByName(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	for i := range attemptsByName {
		if _, wait := l.Attempt(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), "Ann@example.com ", ""); wait != 0 {
			t.Fatalf("attempt %d has to wait %v", i, wait)
		}
	}
	wantAttempts(t, l, "from another client", "192.0.2.1", alwaysName("ann@example.com"), 0)
	if _, wait := l.Attempt(netip.MustParseAddr("192.0.2.1"), "ann@example.com", ""); wait > attemptEveryByName {
		t.Errorf("the next one has to wait %v", wait)
	}
	now = now.Add(attemptEveryByName)
	wantAttempts(t, l, "a minute later", "192.0.2.1", alwaysName("ann@example.com"), 1)
	now = now.Add(attemptEveryByName)
	charge, wait := l.Attempt(netip.MustParseAddr("192.0.2.1"), "ann@example.com", "")
	if wait != 0 {
		t.Fatalf("another minute later: wait %v", wait)
	}
	l.Succeed(charge, "ann@example.com", "", "anns")
	wantAttempts(t, l, "after a sign-in, whose attempt comes back", "192.0.2.3", alwaysName("ann@example.com"), 1)
	wantAttempts(t, l, "at the address where the name has signed in", "192.0.2.1", alwaysName("ann@example.com"), 0)
	wantAttemptsIn(t, l, "in the browser where the name has signed in", "192.0.2.3", "anns", alwaysName("Ann@example.com"), attemptsByName)
	wantAttemptsIn(t, l, "other names there", "192.0.2.1", "anns", personAddress, attemptsByClient)
	l.Succeed(nil, "ann@example.com", "anns", "anns-2")
	wantAttempts(t, l, "after a sign-in there, which took none", "192.0.2.3", alwaysName("ann@example.com"), 0)
	wantAttemptsIn(t, l, "by the secret of before", "192.0.2.3", "anns", alwaysName("ann@example.com"), 0)
	wantAttemptsIn(t, l, "by the new secret", "192.0.2.3", "anns-2", alwaysName("ann@example.com"), attemptsByName)
}

// TestAnOfficeDoesNotLockItselfOut signs many people in from one address, some of whom
// mistype, and then has a stranger there use up the address's attempts.
func TestAnOfficeDoesNotLockItselfOut(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	office := netip.MustParseAddr("192.0.2.1")
	const people = 10 * attemptsByClient
	for i := range people {
		if i%20 == 0 {
			l.Attempt(office, personAddress(i), "") // mistyped
		}
		charge, wait := l.Attempt(office, personAddress(i), "")
		if wait != 0 {
			t.Fatalf("%s has to wait %v", personAddress(i), wait)
		}
		l.Succeed(charge, personAddress(i), "", fmt.Sprint("browser", i))
	}
	guesses := 0
	for ; ; guesses++ {
		if _, wait := l.Attempt(office, fmt.Sprintf("guess%d@example.com", guesses), ""); wait != 0 {
			break
		}
	}
	if guesses > attemptsByClient {
		t.Errorf("%d guesses from one address", guesses)
	}
	for i := range people {
		if _, wait := l.Attempt(office, personAddress(i), ""); wait == 0 {
			t.Fatalf("somebody who guesses there learns that %s has signed in", personAddress(i))
		}
		if _, wait := l.Attempt(office, personAddress(i), fmt.Sprint("browser", i)); wait != 0 {
			t.Fatalf("%s has to wait %v beside somebody who guesses", personAddress(i), wait)
		}
	}
}

// However many people have signed in, a browser in which nobody has is limited by its address:
// it cannot try one password on all names.
func TestManyRegularsLetNoStrangerThrough(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	for i := range maxRegulars + 1000 {
		l.Succeed(nil, personAddress(i), "", fmt.Sprint("browser", i))
	}
	stranger, tried := netip.MustParseAddr("192.0.2.1"), 0
	for i := range 200 {
		if _, wait := l.Attempt(stranger, personAddress(i), ""); wait == 0 {
			tried++
		}
	}
	if len(l.regulars) != maxRegulars {
		t.Errorf("%d regulars are remembered, want %d", len(l.regulars), maxRegulars)
	}
	if tried > attemptsByClient {
		t.Errorf("a stranger has tried %d names, want %d", tried, attemptsByClient)
	}
}

// TestASiteUsesUpItsOwnAttempts tries passwords and passkeys from all networks of an IPv6
// site: others go on.
func TestASiteUsesUpItsOwnAttempts(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	tried, failed := 0, 0
	for i := range 4 * limiterSlots {
		network := netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", i%(1<<16)))
		if _, wait := l.Attempt(network, personAddress(i), ""); wait == 0 {
			tried++
		}
		if l.Wait(network) == 0 {
			l.Fail(network)
			failed++
		}
	}
	if tried != attemptsBySite || failed != attemptsBySite {
		t.Errorf("a site has tried %d passwords and failed %d times without a name, want %d", tried, failed, attemptsBySite)
	}
	refused := 0
	for i := range 1000 {
		other := netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::1", i+1))
		if _, wait := l.Attempt(other, fmt.Sprint("other", i), ""); wait != 0 || l.Wait(other) != 0 {
			refused++
		}
	}
	if refused > 50 { // those that share a slot
		t.Errorf("%d of 1000 others have to wait", refused)
	}
}

// TestPasswordsShutNoPasskeys tries passwords at an address until none may be tried there,
// and one blocked name without an end: passkeys go on, and so do the other names.
func TestPasswordsShutNoPasskeys(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l, office := NewLimiter(func() time.Time { return now }), netip.MustParseAddr("192.0.2.1")
	for range 1000 {
		l.Attempt(office, "ann@example.com", "")
	}
	wantAttempts(t, l, "other names", office.String(), personAddress, attemptsByClient-attemptsByName)
	if wait := l.Wait(office); wait != 0 {
		t.Errorf("a passkey has to wait %v", wait)
	}
}

// Who gives no name, by a passkey or at a provider, is counted by failures alone.
func TestFailuresWithoutANameAreLimited(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	client, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:0:1::1")
	for i := range attemptsByClient {
		if wait := l.Wait(client); wait != 0 {
			t.Fatalf("after %d failures: wait %v", i, wait)
		}
		l.Fail(client)
	}
	if l.Wait(client) == 0 || l.Wait(other) != 0 {
		t.Errorf("after %d failures the client waits %v, another one %v", attemptsByClient, l.Wait(client), l.Wait(other))
	}
	now = now.Add(attemptEveryByClient)
	if wait := l.Wait(client); wait != 0 {
		t.Errorf("a while later: wait %v", wait)
	}
}

// However many try at the same moment, no more than the limit get through.
func TestAttemptsAtTheSameMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 4 * attemptsByName {
		all.Go(func() {
			if _, wait := l.Attempt(netip.MustParseAddr("192.0.2.1"), "ann@example.com", ""); wait == 0 {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != attemptsByName {
		t.Errorf("%d attempts passed, want %d", passed.Load(), attemptsByName)
	}
}

// TestManySignInsAtOnceGiveBackTheirOwn signs in ten times at once in a browser in which the
// name has signed in before: the attempts were the browser's own, and the client's stay used
// up, by whoever tries other names there.
func TestManySignInsAtOnceGiveBackTheirOwn(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, client := NewLimiter(func() time.Time { return now }), netip.MustParseAddr("192.0.2.1")
	l.Succeed(nil, "ann@example.com", "", "anns")
	wantAttempts(t, l, "guesses", client.String(), personAddress, attemptsByClient)
	var charges []Charge
	for range attemptsByName {
		charge, wait := l.Attempt(client, "ann@example.com", "anns")
		if wait != 0 {
			t.Fatalf("ann has to wait %v", wait)
		}
		charges = append(charges, charge)
	}
	for i, charge := range charges {
		l.Succeed(charge, "ann@example.com", "anns", fmt.Sprint("anns-", i))
	}
	wantAttempts(t, l, "more guesses", client.String(), personAddress, 0)
}
