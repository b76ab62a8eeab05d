package receiver

import (
	"net/netip"
	"sync"

	"minutebook/internal/httpserver"
)

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
