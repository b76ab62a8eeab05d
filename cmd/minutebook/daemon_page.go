package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/web"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// pageHandlers are the handlers of the page's listener and of the one for metrics.
type pageHandlers struct {
	page    *web.Handler
	monitor http.Handler
}

// newPage makes the handlers by a configuration.
func (d *daemon) newPage(ctx context.Context, cfg *config.Config, connector *accounts.Connector) (h pageHandlers, err error) {
	o, err := d.pageOptions(ctx, cfg, connector)
	if err != nil {
		return h, err
	}
	if h.page, err = web.New(o); err != nil {
		return h, err
	}
	h.monitor = web.NewMonitor(o)
	return h, nil
}

// pageOptions returns the options of the page by a configuration.
func (d *daemon) pageOptions(ctx context.Context, cfg *config.Config, connector *accounts.Connector) (o web.Options, err error) {
	zone, err := pageZone(cfg)
	if err != nil {
		return o, err
	}
	metrics, err := d.newMetrics()
	if err != nil {
		return o, err
	}
	people, err := d.Access(ctx)
	if err != nil {
		return o, err
	}
	added, err := d.Notes(ctx)
	if err != nil {
		return o, err
	}
	o = web.Options{
		Archive: d.archive, Index: d.index, Notes: added, Roster: d.roster, Clips: d.clips, SignIns: d.signIns, Hosts: cfg.Web.Hosts, Accounts: connector,
		Registry: metrics, PageURL: d.urlOfPage(cfg), Location: zone, Version: d.opts.Version, Logger: d.log,
	}
	if d.service != nil {
		o.Service = d.service.Handler()
	}
	if m := newMail(cfg.Notify); m != nil {
		o.Mail, o.MailOwner = m, m.To
	}
	if d.receiverListener != nil {
		o.Ready = map[string]func() string{"receiver": d.receiverReady}
	}
	o.Status = func(ctx context.Context, shown bool) (any, error) {
		return control.Call[control.StatusResult](ctx, d.operations, "status", control.StatusRequest{Shown: shown}, nil)
	}
	if cfg.Media.Download {
		o.Fetch = d.syncer.FetchRecording
	}
	if o.Entry, err = newEntry(cfg.Web, people); err != nil {
		return o, err
	}
	o.CheckJob, o.Run, o.Record, o.Setup = d.syncer.CheckJob, d.askJob, people.Record, d.newSetup(cfg)
	if cfg.Audit.Reads {
		o.Audit = people
	}
	return o, nil
}

func (d *daemon) newMetrics() (*prometheus.Registry, error) {
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(d.receiver); err != nil {
		return nil, fmt.Errorf("register the receiver's metrics: %w", err)
	}
	return metrics, control.RegisterMetrics(metrics, d.opts.Version, d.observe, d.log)
}

// newEntry returns who enters the page, by the configuration.
func newEntry(w config.Web, people *access.DB) (e web.Entry, err error) {
	if e.TrustedProxies, err = parseNetworks("web.trusted_proxies", w.TrustedProxies); err != nil || w.Access == config.AccessOwner {
		return e, err
	}
	e.People = people
	if e.PublicURL, err = url.Parse(w.PublicURL); err != nil {
		return e, fmt.Errorf("read web.public_url: %w", err)
	}
	if w.Access == config.AccessProxy {
		e.ProxyHeader = w.ProxyHeader
		e.ProxyNetworks, err = parseNetworks("web.proxy_networks", w.ProxyNetworks)
		return e, err
	}
	e.Passwords = w.Passwords
	if w.OIDC.Issuer != "" {
		e.OIDC = &web.OIDC{Issuer: w.OIDC.Issuer, ClientID: w.OIDC.ClientID, ClientSecret: w.OIDC.ClientSecret,
			AdminGroup: w.OIDC.AdminGroup, TrustEmail: w.OIDC.TrustEmail, Entrance: access.Entrance{
				Join: access.Join(w.OIDC.Join), Domains: w.OIDC.AllowedDomains, Admins: w.OIDC.AdminGroup != ""}}
	}
	return e, nil
}

// parseNetworks parses the address ranges of a setting.
func parseNetworks(setting string, texts []string) (networks []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", setting, err)
		}
		networks = append(networks, p)
	}
	return networks, nil
}

// servePage serves the page until ctx ends: by TLS where there is a certificate.
func (d *daemon) servePage(ctx context.Context) error {
	w := d.config().Web
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.pageForwarders.Note(r)
		d.page.ServeHTTP(w, r)
	})
	srv := newHTTPServer(ctx, page, d.opts.Times, d.log)
	if w.TLSCert != "" {
		var err error
		if srv.TLSConfig, err = httpserver.TLSConfig(w.TLSCert, w.TLSKey, d.log); err != nil {
			return fmt.Errorf("serve the page: %w", err)
		}
	}
	trusted := localNetworks()
	for setting, texts := range map[string][]string{"web.trusted_proxies": w.TrustedProxies, "web.proxy_networks": w.ProxyNetworks} {
		more, err := parseNetworks(setting, texts)
		if err != nil {
			return err
		}
		trusted = append(trusted, more...)
	}
	return httpserver.Serve(ctx, srv, d.webListener, httpserver.Bounds{Trusted: trusted}, stopTime)
}

// localURL returns the page's address for a browser on this machine: people who sign in
// use the public one.
func (d *daemon) localURL() string {
	if d.config().Web.Access != config.AccessOwner {
		return d.config().Web.PublicURL
	}
	return d.ownURL(d.config())
}

// urlOfPage returns the address of the page for people.
func (d *daemon) urlOfPage(cfg *config.Config) string {
	return cmp.Or(cfg.Web.PublicURL, d.ownURL(cfg))
}

// ownURL returns the address of the page's listener.
func (d *daemon) ownURL(cfg *config.Config) string {
	scheme := "http"
	if cfg.Web.TLSCert != "" {
		scheme = "https"
	}
	return urlFor(scheme, d.webListener.Addr())
}

// urlFor returns the URL of a listener's address for a browser on this machine.
func urlFor(scheme string, a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err == nil && at.Addr().IsUnspecified() {
		return fmt.Sprintf("%s://localhost:%d", scheme, at.Port())
	}
	return scheme + "://" + a.String()
}
