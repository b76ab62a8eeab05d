package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"
)

// complain reports one faulty setting.
type complain func(setting, format string, args ...any)

// validateWeb refuses every configuration of the page that would let anybody in
// without asking, and those that look as if they asked and do not.
func (c *Config) validateWeb(bad complain) {
	w := c.Web
	host, _, err := SplitListen(w.Listen)
	if err != nil {
		bad("web.listen", "%v", err)
		host = "localhost" // nothing more is to be said about it
	}
	if _, err := time.LoadLocation(w.TimeZone); err != nil {
		bad("web.time_zone", "%q is no time zone such as Europe/Berlin", w.TimeZone)
	}
	if (w.TLSCert == "") != (w.TLSKey == "") {
		bad("web.tls_cert", "and web.tls_key go together")
	}
	for _, name := range w.Hosts {
		if !isHostName(name) {
			bad("web.hosts", "%q is no host name; write it without https://, port and path, such as minutes.home.example", name)
		}
	}
	for _, network := range w.TrustedProxies {
		checkNetwork(bad, "web.trusted_proxies", network)
	}
	w.validateMetricsListen(c.Receiver.Listen, bad)
	public := w.parsePublicURL(bad)
	switch w.Access {
	case AccessOwner:
		w.validateOwner(host, public, bad)
	case AccessPeople, AccessProxy:
		w.validateShared(public, bad)
	default:
		bad("web.access", "%q is none of owner, people, proxy", w.Access)
	}
	w.validateProxy(bad)
	w.validateOIDC(bad)
}

func (w Web) validateMetricsListen(receiver string, bad complain) {
	if w.MetricsListen == "" {
		return
	}
	_, port, err := SplitListen(w.MetricsListen)
	if err != nil {
		bad("web.metrics_listen", "%v", err)
	} else if port != "0" && (w.MetricsListen == w.Listen || w.MetricsListen == receiver) {
		bad("web.metrics_listen", "%s is the address of another listener; choose another port", w.MetricsListen)
	}
}

// canonicalURL returns an address as browsers write it, in Host and Origin: with a host of
// small ASCII letters, without a dot at its end, and without the scheme's own port. An
// address that cannot be parsed stays as it is.
func canonicalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	} else if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" {
		u.Host += ":" + port
	}
	return u.String()
}

// parsePublicURL returns web.public_url, or nil when it is empty or faulty.
func (w Web) parsePublicURL(bad complain) *url.URL {
	if w.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(w.PublicURL)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		bad("web.public_url", "is no http or https address; write one such as https://minutes.example")
		return nil
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		bad("web.public_url", "has the host %q, which is no name that browsers take; write another one, or its form that begins with xn--", u.Host)
		return nil
	case hasMore(w.PublicURL, u):
		bad("web.public_url", "has a user, a query or a fragment; write only scheme, host and path")
		return nil
	case u.Path != "" && w.Access == AccessOwner:
		bad("web.public_url", "has a path, which is for a proxy, and access = \"owner\" answers none; remove the path")
	case !isBasePath(u):
		bad("web.public_url", "has the path %q; write its parts with letters, digits, hyphens, dots and underscores, such as https://example.org/minutebook", u.EscapedPath())
	case w.TLSCert != "" && u.Scheme != "https":
		bad("web.public_url", "is http, but web.tls_cert is set: write https")
	}
	return u
}

// isBasePath reports whether the path of an address needs no escaping anywhere: in
// cookies, headers and documents. An empty one is fine.
func isBasePath(u *url.URL) bool {
	if u.Path == "" {
		return true
	}
	for _, part := range strings.Split(u.EscapedPath(), "/")[1:] {
		if strings.Trim(strings.ToLower(part), "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" || strings.Trim(part, ".") == "" {
			return false
		}
	}
	return true
}

// remedy is how one lets others reach the page.
const remedy = `; to let others in, write under [web] the two lines: access = "people" and public_url = "https://minutes.example" (the address that they use)`

// validateOwner refuses whatever lets somebody else than the owner reach the page.
func (w Web) validateOwner(host string, public *url.URL, bad complain) {
	if !isLoopbackName(host) {
		bad("web.listen", "%q can be reached from other machines, and access = \"owner\" asks nobody who they are; keep it on 127.0.0.1%s", w.Listen, remedy)
	}
	for _, name := range w.Hosts {
		if !isLoopbackName(name) {
			bad("web.hosts", "%q lets a proxy through, and access = \"owner\" asks nobody who they are; remove it%s", name, remedy)
		}
	}
	if public != nil && !isLoopbackName(public.Hostname()) {
		bad("web.public_url", "is for others, and access = \"owner\" asks nobody who they are; remove it%s", remedy)
	}
	if len(w.TrustedProxies) > 0 {
		bad("web.trusted_proxies", "lets a proxy through, and access = \"owner\" asks nobody who they are; remove it%s", remedy)
	}
}

// CheckListener refuses an address at which the page was given an open listener, when
// other machines reach it and nobody is asked who they are.
func (w Web) CheckListener(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err == nil && w.Access == AccessOwner && !isLoopbackName(host) {
		err = fmt.Errorf("the page's socket %s can be reached from other machines, and access = \"owner\" asks nobody who they are; let it listen on 127.0.0.1%s", address, remedy)
	}
	return err
}

// validateShared checks that other people reach the page under an address of its
// own, and that nobody on the way can read along.
func (w Web) validateShared(public *url.URL, bad complain) {
	if w.PublicURL == "" {
		bad("web.public_url", "is missing, and access = %q needs it: write the address under which people reach the page, such as https://minutes.example", w.Access)
	}
	if public != nil && public.Scheme != "https" && !isLoopbackName(public.Hostname()) {
		bad("web.public_url", "is http, so everybody on the way could read along and come in; write https, with web.tls_cert and web.tls_key or a proxy that has the certificate")
	}
}

// isLoopbackName reports whether a host leads to this machine from everywhere. An
// empty host, as in ":8377", is every address.
func isLoopbackName(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// isHostName reports whether name is an address, or a name of letters, digits,
// dots and hyphens.
func isHostName(name string) bool {
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}
