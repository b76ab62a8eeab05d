package receiver

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"minutebook/internal/httpserver"
)

// clientAddr is who sent a request: the peer, or, when the peer is a trusted
// proxy, the last address in X-Forwarded-For that is not one.
func clientAddr(req *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := httpserver.PeerAddr(req.RemoteAddr)
	if !httpserver.Contains(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(req.Header["X-Forwarded-For"], ","), ",")
	for n := len(hops) - 1; n >= 0; n-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[n]))
		if err != nil {
			return addr // only an entry that a proxy wrote is trusted
		}
		addr = hop.Unmap()
		if !httpserver.Contains(trusted, addr) {
			return addr
		}
	}
	return addr
}

// clients counts the running requests by address. IPv6 clients count by /64, the range
// of one client.
type clients struct {
	mu    sync.Mutex
	under map[netip.Addr]int
}

func (c *clients) enter(addr netip.Addr, limit int) bool {
	addr = httpserver.Network(addr)
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
	addr = httpserver.Network(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[addr]--; c.under[addr] <= 0 {
		delete(c.under, addr)
	}
}
