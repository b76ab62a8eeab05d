package httpserver

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Forwarders notes who sends X-Forwarded-For from this machine and from private networks, as
// a proxy in front does. The internet is left out: anyone there can send it. A nil
// *Forwarders notes nothing.
type Forwarders struct {
	mu    sync.Mutex
	addrs []netip.Addr
}

// maxForwarders is how many are noted; the others are no proxies.
const maxForwarders = 16

// sharedNetwork is for customers behind one address of a provider (RFC 6598); some tunnels use
// it too.
var sharedNetwork = netip.MustParsePrefix("100.64.0.0/10")

// Note looks at a request.
func (f *Forwarders) Note(r *http.Request) {
	if f == nil || r.Header.Get("X-Forwarded-For") == "" {
		return
	}
	addr := PeerAddr(r.RemoteAddr).WithZone("")
	if !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast() && !sharedNetwork.Contains(addr) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, found := slices.BinarySearchFunc(f.addrs, addr, netip.Addr.Compare); !found && len(f.addrs) < maxForwarders {
		f.addrs = slices.Insert(f.addrs, at, addr)
	}
}

// All returns the addresses that were noted, in their order.
func (f *Forwarders) All() []netip.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.addrs)
}
