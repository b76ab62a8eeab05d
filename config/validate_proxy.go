package config

import (
	"net/netip"
	"net/textproto"
	"strings"
)

// validateProxy checks proxy_header and proxy_networks: who can set the header, is
// whoever they say.
func (w Web) validateProxy(bad complain) {
	if w.Access != AccessProxy {
		if w.ProxyHeader != "" || len(w.ProxyNetworks) > 0 {
			bad("web.proxy_header", "and web.proxy_networks count only with access = \"proxy\", and access is %q: remove them, or write access = \"proxy\"", w.Access)
		}
		return
	}
	switch name := textproto.CanonicalMIMEHeaderKey(w.ProxyHeader); {
	case name == "":
		bad("web.proxy_header", "is missing, and access = \"proxy\" needs it: name the header that has the person's address, such as Remote-Email")
	case strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		bad("web.proxy_header", "%q is no name of a header", w.ProxyHeader)
	case setByBrowsers(name):
		bad("web.proxy_header", "%s is set by every browser or proxy, so it says nothing of who asks; name the header that your proxy sets, such as Remote-Email", name)
	}
	if len(w.ProxyNetworks) == 0 {
		bad("web.proxy_networks", "is missing, and access = \"proxy\" needs it: name the networks of your proxy, such as [\"127.0.0.1/32\"]; from anywhere else the header is refused")
	}
	for _, network := range w.ProxyNetworks {
		checkNetwork(bad, "web.proxy_networks", network)
	}
}

// setByBrowsers reports whether a header comes with requests whoever asks.
func setByBrowsers(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Connection", "Cookie", "Forwarded", "From", "Host", "Origin", "Referer",
		"User-Agent", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip":
		return true
	}
	return false
}

// checkNetwork refuses a network that does not parse, or that is so wide that it
// names nobody.
func checkNetwork(bad complain, setting, network string) {
	p, err := netip.ParsePrefix(network)
	switch {
	case err != nil:
		bad(setting, "%q is no address range such as 127.0.0.1/32", network)
	case p.Addr().Is4In6():
		bad(setting, "%s is an IPv4 range in IPv6 form; write it as IPv4", network)
	case p.Bits() < leastBits(p):
		bad(setting, "%s is far too wide; name the network of your proxy, such as 127.0.0.1/32", network)
	}
}

// leastBits returns the length of the widest prefix at this address that still
// names a network of somebody: a private range, or one that a single organisation
// may have.
func leastBits(p netip.Prefix) int {
	switch first := p.Masked().Addr(); {
	case first.Is4() && (first.IsPrivate() || first.IsLoopback()):
		return 8
	case first.Is4():
		return 16
	case first.IsPrivate():
		return 7
	}
	return 32
}
