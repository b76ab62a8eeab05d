package httpserver

import "net/netip"

// PeerAddr is the address of a peer, as a connection or a request names it with
// its port; the zero address where there is none.
func PeerAddr(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// Contains tells whether an address is in one of the networks.
func Contains(networks []netip.Prefix, addr netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}

// Network is what one peer has: an IPv4 address, or the /64 of an IPv6 one.
func Network(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr
	}
	return p.Addr()
}
