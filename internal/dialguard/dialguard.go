package dialguard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrNotGlobal is wrapped by every refusal.
var ErrNotGlobal = errors.New("address is not globally routable")

// special lists the ranges of the IANA registries that netip's own predicates
// leave out and that do not lead to the public internet.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // retired relays
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
		netip.MustParsePrefix("64:ff9b::/96"),    // translated IPv4
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"), // discard
		netip.MustParsePrefix("2001::/23"),
		netip.MustParsePrefix("2001:db8::/32"), // documentation
		netip.MustParsePrefix("2002::/16"),     // tunnelled IPv4
		netip.MustParsePrefix("3fff::/20"),     // documentation
		netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("fec0::/10"),
	}
}

// Global tells whether an address leads to the public internet: no loopback,
// private, link-local, multicast, documentation or translated range.
func Global(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() {
		return false
	}
	ip = ip.WithZone("")
	for _, p := range special() {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// Control is a net.Dialer's Control function that refuses, with ErrNotGlobal,
// every address that is not Global.
func Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read dialled address: %w", err)
	}
	if !Global(ap.Addr()) {
		return fmt.Errorf("dial %s: %w", ap.Addr(), ErrNotGlobal)
	}
	return nil
}

// Transport is an http.Transport for addresses that someone else chose. It uses
// no proxy, since a proxy would dial in our place, and no compression. With
// allowPrivate every address may be dialled.
func Transport(allowPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.Control = Control
	}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 60 * time.Second,
		DisableCompression:    true,
	}
}
