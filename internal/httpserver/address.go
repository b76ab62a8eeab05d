package httpserver

import "net/netip"

// PeerAddr returns the address of a peer from an "address:port" text, as a
// connection or a request has it. It returns the zero address where there is none.
func PeerAddr(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// Contains reports whether an address is in one of the networks.
func Contains(networks []netip.Prefix, addr netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}

// Network returns the addresses that one peer has to itself, by their first: an
// IPv4 address, or the /64 of an IPv6 address.
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
