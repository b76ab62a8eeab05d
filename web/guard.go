package web

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy of every answer: scripts, styles and media
// of this host only, no inline code, no frames. Scripts make elements of no text, but for
// the policy of app.js, which reads pages of this archive and knows its answers by the name.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; " +
	"media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types minutebook"

// policy returns the policy of this page's answers. Browsers apply form-action to redirects too: a
// proxy that signs people in answers each form so once its session has ended.
func (s *server) policy() string {
	if s.Entry.ProxyHeader != "" {
		return strings.Replace(policy, "form-action 'self'; ", "", 1)
	}
	return policy
}

// refuses returns why a request is answered under no address of this page, and the status
// that says so, 0 for a request that is not refused.
func (s *server) refuses(r *http.Request) (reason string, status int) {
	asksNobody := s.asksNobody()
	switch {
	case !hostAllowed(r, s.hosts) && asksNobody:
		return "this archive has one owner and is not served under that host name; ask by its IP address", http.StatusMisdirectedRequest
	case !hostAllowed(r, s.hosts):
		return "this archive is not served under that host name; add the name to hosts under [web] in the configuration", http.StatusMisdirectedRequest
	case asksNobody && !s.isMonitor && isForwarded(r):
		return "this archive has one owner and asks nobody who they are, so it answers no proxy; " +
			`write access = "people" or "proxy" under [web] in the configuration`, http.StatusForbidden
	case asksNobody && !s.isMonitor && s.noticesProxy(r):
		return "this archive has one owner and asks nobody who they are, and a proxy leads to it, so it answers nobody; " +
			`remove the proxy and restart minutebook, or write access = "people" or "proxy" under [web] in the configuration`, http.StatusForbidden
	}
	return "", 0
}

// asksNobody reports whether whoever reaches the page is its owner.
func (s *server) asksNobody() bool { return s.Identify == nil && s.Entry.isOwners() }

// hostNames returns the names under which a page answers beside loopback ones and the address
// of its listener.
func hostNames(o *Options) map[string]bool {
	hosts := map[string]bool{}
	for _, h := range o.Hosts {
		if ip, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil {
			h = ip.WithZone("").String() // as browsers write it
		}
		hosts[strings.ToLower(strings.TrimSuffix(h, "."))] = true
	}
	if o.Entry.PublicURL != nil {
		hosts[strings.ToLower(o.Entry.PublicURL.Hostname())] = true
	}
	return hosts
}

// guard answers a request that is refused with the reason, and sets the security headers of
// every answer.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", s.policy())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // the meeting's page looks whether the results led to it
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if reason, status := s.refuses(r); status != 0 {
			s.refuse(w, r, reason, status)
			return
		}
		if s.asksNobody() && !s.isMonitor {
			h.Set("X-Accel-Redirect", s.insteadPath)
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers a request that reaches no route, in the form of the interface where it is for that.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, reason string, status int) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/") {
		s.failJSON(w, r, &failure{status, reason})
		return
	}
	http.Error(w, reason, status)
}

// noticesProxy reports whether this request, or an earlier one, shows that a proxy leads here
// that says nothing of itself. nginx delivers no answer that names insteadPath in X-Accel-Redirect,
// and asks for that path in its place. The path is a secret: a page of another site can open
// addresses here, and reads no headers.
func (s *server) noticesProxy(r *http.Request) bool {
	if (r.URL.Path == s.insteadPath || isRewritten(r)) && !s.hasProxy.Swap(true) {
		s.Logger.Error().Msg("a proxy leads to the page, which asks nobody who they are: it answers nobody until a restart")
	}
	return s.hasProxy.Load()
}

// isRewritten reports whether somebody has changed the Host on the way: the browser asks its
// own site, and names that by another host.
func isRewritten(r *http.Request) bool {
	site, err := url.Parse(cmp.Or(r.Header.Get("Origin"), r.Referer()))
	return r.Header.Get("Sec-Fetch-Site") == "same-origin" && err == nil && site.Host != "" && !strings.EqualFold(site.Host, r.Host)
}

// isForwarded reports whether a request comes through a proxy that shows by itself: one on this
// machine that writes the Host itself would let everybody in. nginx before 1.29.7 says nothing of
// itself unless it is told to, and speaks HTTP/1.0 or ends the connection of each request, as no
// browser does.
func isForwarded(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) || r.Close && r.Header.Get("Accept-Language") != "" {
		return true
	}
	for name := range r.Header {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if strings.HasPrefix(name, "x-forwarded") || slices.Contains(forwardHeaders[:], name) {
			return true
		}
	}
	return false
}

// forwardHeaders are headers that proxies add beside those that begin with X-Forwarded.
var forwardHeaders = [...]string{"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip",
	"x-original-host", "x-original-forwarded-for", "cf-connecting-ip", "cdn-loop", "remote-user"}

// hostForm matches the forms of a Host header that browsers write: a name or an address, and
// perhaps a port. In a link of a page, anything else can lead to another host, such as
// localhost:80@evil.example.
var hostForm = regexp.MustCompile(`^(?:\[([0-9A-Fa-f.]*:[0-9A-Fa-f.:]*)\]|([0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)*)\.?)(?::[0-9]{1,5})?$`)

// hostAllowed reports whether the request's Host is loopback, the address that
// the connection came in at, or one of the configured names.
func hostAllowed(r *http.Request, hosts map[string]bool) bool {
	parts := hostForm.FindStringSubmatch(r.Host)
	if parts == nil {
		return false
	}
	host := strings.ToLower(parts[1] + parts[2])
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || hosts[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}
