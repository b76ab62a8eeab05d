package httpserver

import (
	"net/http"
	"net/netip"
	"strings"
)

// PeerAddr returns the address of a peer from an "address:port" text, as a
// connection or a request has it. It returns the zero address where there is none.
func PeerAddr(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// ClientAddr returns the address of the sender of a request: the peer's or, when the
// peer is a trusted proxy, the last address in X-Forwarded-For that is none of a
// trusted proxy.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := PeerAddr(r.RemoteAddr)
	if !Contains(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for n := len(hops) - 1; n >= 0; n-- {
		hop, err := parseHop(strings.TrimSpace(hops[n]))
		if err != nil {
			return addr // only an entry that a proxy wrote is trusted
		}
		addr = hop.Unmap()
		if !Contains(trusted, addr) {
			return addr
		}
	}
	return addr
}

// parseHop reads an address as proxies write it: some with the port.
func parseHop(text string) (netip.Addr, error) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr(), nil
	}
	return netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
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
