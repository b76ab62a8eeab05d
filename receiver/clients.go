package receiver

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// clientAddr is who sent a request: the peer, or, when the peer is a trusted
// proxy, the last address in X-Forwarded-For that is not one.
func clientAddr(req *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := peerAddr(req.RemoteAddr)
	if !contains(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(req.Header["X-Forwarded-For"], ","), ",")
	for n := len(hops) - 1; n >= 0; n-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[n]))
		if err != nil {
			return addr // what a proxy did not write is not believed
		}
		addr = hop.Unmap()
		if !contains(trusted, addr) {
			return addr
		}
	}
	return addr
}

func peerAddr(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}

// clients counts the requests under way by address; IPv6 clients count by /64,
// which is what one of them has.
type clients struct {
	mu    sync.Mutex
	under map[netip.Addr]int
}

func (c *clients) enter(addr netip.Addr, limit int) bool {
	addr = network(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under = map[netip.Addr]int{}
	}
	if c.under[addr] >= limit {
		return false
	}
	c.under[addr]++
	return true
}

func (c *clients) leave(addr netip.Addr) {
	addr = network(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[addr]--; c.under[addr] <= 0 {
		delete(c.under, addr)
	}
}

func network(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr
	}
	return p.Addr()
}
