package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/internal/outbound"
	"minutebook/internal/phrase"
	"minutebook/web"
)

// The exit codes of doctor, by the worst finding.
const (
	exitDoctorWarning = 30
	exitDoctorError   = 31
)

func (m *Main) doctorCmd() *cobra.Command {
	var q control.DoctorRequest
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong, and what to do about it",
		Long: `Examines the installation: the configuration and whether the daemon runs with it,
who can read its files, the clock and the credentials by one call for each account, the
public address by a delivery to itself, the page's address and its proxy, the provider at
which people sign in, the disk's speed and space, the places of recordings and backups,
the archive and its index, locks of the databases, and the versions. It repairs nothing.

Exit codes: 0 nothing to do, 30 the worst finding is a warning, 31 it is an error, 2 the
configuration cannot be read.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			findings, err := m.diagnose(cmd.Context(), cfg, q)
			if err != nil {
				return err
			}
			return m.printFindings(findings)
		},
	}
	cmd.Flags().BoolVar(&q.Offline, "offline", false, "call neither the service nor the public addresses nor the provider nor the buckets of recordings and backups")
	return m.jsonFlag(cmd)
}

// A daemon that does not tell its configuration, which it has in memory, within answerTime, or does not
// finish its examination within examinationTime, hangs.
const (
	answerTime      = 10 * time.Second
	examinationTime = 3 * time.Minute
)

// diagnose returns the findings of this process and of the archive's owner.
func (m *Main) diagnose(ctx context.Context, cfg *config.Config, q control.DoctorRequest) ([]control.Finding, error) {
	asking, cancel := context.WithTimeout(ctx, cmp.Or(m.daemonTime, examinationTime))
	defer cancel()
	findings, err := m.examineConfiguration(asking, cfg)
	findings = append(findings, m.examineModes(cfg)...)
	var result control.DoctorResult
	if err == nil {
		result, err = call[control.DoctorResult](asking, m, "doctor", q, nil)
	}
	var failed *control.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || asking.Err() != nil:
		findings = append(findings, control.Finding{Subject: "daemon", Severity: control.SeverityError, Text: "the examination does not end: the daemon hangs, or a disk that it uses",
			Remedy: "see its log, look whether data_dir and the folders of recordings and backups answer, and restart it"})
	case errors.As(err, &failed) && failed.Kind == control.KindUnknown:
		findings = append(findings, control.Finding{Subject: "versions", Severity: control.SeverityWarning,
			Text: "the daemon is of an older version, which knows no doctor", Remedy: "restart the daemon"})
	case err != nil:
		findings = append(findings, control.Finding{Subject: "archive", Severity: control.SeverityError, Text: "it cannot be opened: " + phrase.Error(err), Remedy: control.RemedyOf(err)})
	case result.Version != m.Version:
		findings = append(findings, control.Finding{Subject: "versions", Severity: control.SeverityWarning,
			Text: fmt.Sprintf("the daemon is version %s, this command %s", result.Version, m.Version), Remedy: "restart the daemon"})
	default:
		findings = append(findings, control.Finding{Subject: "versions", Severity: control.SeverityOK, Text: "minutebook " + m.Version})
	}
	findings = append(findings, result.Findings...)
	if !q.Offline {
		findings = append(findings, examinePage(ctx, cfg)...)
		findings = append(findings, examineProvider(ctx, cfg)...)
	}
	findings = append(findings, examineCertificates(cfg, time.Now())...)
	return append(findings, examineProxy(cfg, result.Forwarders)...), nil
}

// examineConfiguration compares the file with the environment and the daemon. It fails where a
// daemon is running and does not answer.
func (m *Main) examineConfiguration(ctx context.Context, cfg *config.Config) (findings []control.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if unknown := cfg.UnknownVariables(m.Environ); len(unknown) > 0 {
		findings = append(findings, control.Finding{Subject: "configuration", Severity: control.SeverityWarning,
			Text: describeVariables(unknown), Remedy: "correct the names, or remove the variables"})
	}
	given, err := m.readConfiguration()
	if err != nil {
		return findings, nil // loading it has succeeded just now
	}
	if client, err := control.Dial(ctx, cfg.DataDir); err == nil {
		defer client.Close()
		running, ok, _ := control.RunningConfiguration(ctx, client)
		if ctx.Err() != nil {
			return findings, ctx.Err()
		}
		if difference := given.Differs(running); ok && difference != "" {
			return append(findings, control.Finding{Subject: "configuration", Severity: control.SeverityWarning, Text: difference, Remedy: "minutebook reload, or restart the daemon"}), nil
		}
	}
	if len(findings) == 0 {
		findings = append(findings, control.Finding{Subject: "configuration", Severity: control.SeverityOK, Text: "it is in order"})
	}
	return findings, nil
}

// wideFile is a file or a directory that others can reach, and the mode that closes it.
type wideFile struct {
	path    string
	mode    fs.FileMode
	private string // as chmod takes it
}

// containerSecrets is the folder of a container's secrets: each user of the container can read
// them, and none can change them.
const containerSecrets = "/run/secrets"

// findWide returns those of the paths that others can reach. A secret that does not belong to
// the archive's owner is there for the owner's group, as root's in /etc is.
func (m *Main) findWide(cfg *config.Config, paths []string) (wide []wideFile) {
	archive, errArchive := os.Stat(cfg.DataDir)
	credentials := m.getenv("CREDENTIALS_DIRECTORY")
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		info, err := os.Stat(path)
		if path == "" || err != nil || credentials != "" && filepath.Dir(path) == filepath.Clean(credentials) ||
			strings.HasPrefix(filepath.Clean(path), m.joinRoot(containerSecrets)+"/") {
			continue
		}
		private, others := "600", fs.FileMode(0o077)
		switch {
		case info.IsDir():
			private = "700"
		case errArchive == nil && owner(info) != owner(archive):
			private, others = "o=", 0o007
		}
		if info.Mode()&others != 0 {
			wide = append(wide, wideFile{path, info.Mode(), private})
		}
	}
	return wide
}

// secretPaths returns the files that have secrets, the configuration among them where it has one.
func (m *Main) secretPaths(cfg *config.Config) []string {
	paths := cfg.SecretFiles()
	if file, err := m.configFile(); err == nil {
		if settings, err := config.Describe(file, m.dataDir, m.Environ); err == nil && config.HasSecret(settings, file) {
			paths = append(paths, file)
		}
	}
	return paths
}

// examineModes looks at who else can read the secrets and the archive.
func (m *Main) examineModes(cfg *config.Config) (findings []control.Finding) {
	for _, w := range m.findWide(cfg, append(m.secretPaths(cfg), cfg.DataDir)) {
		findings = append(findings, control.Finding{Subject: "files", Severity: control.SeverityWarning,
			Text: fmt.Sprintf("others can reach %s (%s)", w.path, w.mode), Remedy: fmt.Sprintf("chmod %s %s", w.private, w.path)})
	}
	if len(findings) == 0 {
		findings = append(findings, control.Finding{Subject: "files", Severity: control.SeverityOK, Text: "nobody else can reach the secrets and the archive"})
	}
	return findings
}

// owner returns the number of the user to whom a file belongs.
func owner(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}

// examinePage asks for the page by its public address.
func examinePage(ctx context.Context, cfg *config.Config) []control.Finding {
	if cfg.Web.PublicURL == "" {
		return nil
	}
	remedy, path := "check the name, the certificate and the proxy of web.public_url", "/login"
	if cfg.Web.Access == config.AccessOwner {
		path = "/" // where nobody signs in
	}
	failed := func(text string) []control.Finding {
		return []control.Finding{{Subject: "page", Severity: control.SeverityError, Text: text, Remedy: remedy}}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Web.PublicURL+path, nil)
	if err != nil {
		return failed(err.Error())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == req.URL.Host {
			return nil, nil // a proxy for outgoing calls may not know the page, and its readers use none
		}
		return http.ProxyFromEnvironment(r) // a redirect leads to where people sign in
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return failed("it does not answer at its public address: " + outbound.ExplainTLS(err).Error())
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // of a page that breaks off, the beginning has the title
	switch status := resp.StatusCode; {
	case cfg.Web.Access == config.AccessOwner && (status == http.StatusForbidden || status == http.StatusMisdirectedRequest):
		remedy = `remove the proxy, or write access = "people" or "proxy" under [web]: a page that asks nobody who they are answers no proxy`
	case status == http.StatusMisdirectedRequest:
		remedy = "let the proxy pass on the Host of the request"
	case status < 400 && cfg.Web.Access != config.AccessProxy && !bytes.Contains(body, []byte("Minutebook")): // as each page says in its title
		remedy = "let the name and the proxy of web.public_url lead to web.listen"
		return failed("something else than Minutebook answers at " + cfg.Web.PublicURL)
	case status < 400, status < 500 && cfg.Web.Access == config.AccessProxy: // such a proxy refuses whoever has not signed in
		return []control.Finding{{Subject: "page", Severity: control.SeverityOK, Text: cfg.Web.PublicURL + " answers"}}
	}
	return failed(cfg.Web.PublicURL + " answers " + resp.Status)
}

// providerTime is how long the OpenID provider may take to answer.
const providerTime = 10 * time.Second

// examineProvider asks the OpenID provider for its configuration, as a sign-in does.
func examineProvider(ctx context.Context, cfg *config.Config) []control.Finding {
	issuer := cfg.Web.OIDC.Issuer
	if issuer == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, providerTime)
	defer cancel()
	if err := web.CheckProvider(ctx, web.OIDC{Issuer: issuer}); err != nil {
		return []control.Finding{{Subject: "sign-in", Severity: control.SeverityError, Text: "nobody can sign in at the provider: " + err.Error(),
			Remedy: "is the provider there, and web.oidc.issuer its own name to the letter? ISSUER/.well-known/openid-configuration says it as \"issuer\""}}
	}
	return []control.Finding{{Subject: "sign-in", Severity: control.SeverityOK, Text: "the provider " + issuer + " answers"}}
}

// renewBefore is how long before its end a certificate should have been renewed.
const renewBefore = 14 * 24 * time.Hour

// examineCertificates reads the certificates of the page and the receiver as a start would.
func examineCertificates(cfg *config.Config, now time.Time) (findings []control.Finding) {
	for _, l := range []struct{ table, public, cert, key string }{
		{"web", cfg.Web.PublicURL, cfg.Web.TLSCert, cfg.Web.TLSKey}, {"receiver", cfg.Receiver.PublicURL, cfg.Receiver.TLSCert, cfg.Receiver.TLSKey},
	} {
		if l.cert == "" {
			continue
		}
		add := func(s control.Severity, remedy, format string, args ...any) {
			findings = append(findings, control.Finding{Subject: "certificate of " + l.table, Severity: s, Text: fmt.Sprintf(format, args...), Remedy: remedy})
		}
		pair, err := tls.LoadX509KeyPair(l.cert, l.key)
		if err != nil {
			add(control.SeverityError, "put a certificate and its own key there; a running daemon keeps the old ones until then", "%s cannot be used with %s: %s", l.cert, l.key, strings.TrimPrefix(phrase.Error(err), "tls: "))
			continue
		}
		until := pair.Leaf.NotAfter
		end := until.UTC().Format(time.DateTime + " UTC")
		public, err := url.Parse(l.public)
		switch {
		case now.After(until):
			add(control.SeverityError, "renew it; the new file is read within a second", "%s has expired at %s", l.cert, end)
		case err == nil && public.Hostname() != "" && pair.Leaf.VerifyHostname(public.Hostname()) != nil:
			add(control.SeverityError, "correct "+l.table+".public_url, or use a certificate for this name", "%s is not for %s", l.cert, public.Hostname())
		case until.Sub(now) < renewBefore:
			add(control.SeverityWarning, "renew it; the new file is read within a second", "%s expires at %s", l.cert, end)
		default:
			add(control.SeverityOK, "", "%s is good until %s", l.cert, end)
		}
	}
	return findings
}

// examineProxy looks for proxies whose headers are not believed: all their requests would count
// as those of one address. Some of them the daemon has seen.
func examineProxy(cfg *config.Config, forwarders map[string][]netip.Addr) (findings []control.Finding) {
	web := slices.Concat(cfg.Web.TrustedProxies, cfg.Web.ProxyNetworks)
	if cfg.Web.Access == config.AccessOwner {
		forwarders = map[string][]netip.Addr{"receiver": forwarders["receiver"]} // the page refuses proxies
	}
	for _, l := range []struct {
		table, public, listen, cert string
		trusted                     []string
	}{
		{"receiver", cfg.Receiver.PublicURL, cfg.Receiver.Listen, cfg.Receiver.TLSCert, cfg.Receiver.TrustedProxies},
		{"web", cfg.Web.PublicURL, cfg.Web.Listen, cfg.Web.TLSCert, web},
	} {
		if unknown := unbelieved(forwarders[l.table], l.trusted); len(unknown) > 0 {
			addresses := strings.Join(unknown, ", ")
			findings = append(findings, control.Finding{Subject: "proxy", Severity: control.SeverityWarning,
				Text:   fmt.Sprintf("requests come with X-Forwarded-For from %s, whom %s.trusted_proxies does not name: all their clients count as one", addresses, l.table),
				Remedy: fmt.Sprintf("if your proxy is there, add %s to %s.trusted_proxies", addresses, l.table)})
			continue
		}
		host, _, err := net.SplitHostPort(l.listen)
		if !strings.HasPrefix(l.public, "https://") || l.cert != "" || len(l.trusted) > 0 || err != nil {
			continue
		}
		network := "the proxy's network, such as 192.0.2.1/32,"
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
			network = ownNetwork(ip)
		}
		findings = append(findings, control.Finding{Subject: "proxy", Severity: control.SeverityNote,
			Text:   fmt.Sprintf("%s.public_url is https and there is no certificate here, so a proxy is in front, whose X-Forwarded-For is not believed: its clients count as one", l.table),
			Remedy: fmt.Sprintf("add %s to %s.trusted_proxies", network, l.table)})
	}
	return findings
}

// unbelieved returns the networks of the addresses that are in no trusted one.
func unbelieved(addrs []netip.Addr, trusted []string) (networks []string) {
	believed, err := parseNetworks("trusted_proxies", trusted)
	for _, addr := range addrs {
		if err == nil && !httpserver.Contains(believed, addr) {
			networks = append(networks, ownNetwork(addr))
		}
	}
	return networks
}

// ownNetwork is the network of one address, as the configuration takes it.
func ownNetwork(addr netip.Addr) string { return netip.PrefixFrom(addr, addr.BitLen()).String() }

// doctorResult is the form of `doctor --json`.
type doctorResult struct {
	Worst    control.Severity  `json:"worst"`
	Findings []control.Finding `json:"findings"`
}

// printFindings prints findings, and fails with the exit code of the worst.
func (m *Main) printFindings(findings []control.Finding) error {
	worst := control.SeverityOK
	rank := map[control.Severity]int{control.SeverityOK: 0, control.SeverityNote: 1, control.SeverityWarning: 2, control.SeverityError: 3}
	var b strings.Builder
	for _, f := range findings {
		if rank[f.Severity] > rank[worst] {
			worst = f.Severity
		}
		fmt.Fprintf(&b, "%-7s  %s: %s\n", f.Severity, f.Subject, f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "         → %s\n", f.Remedy)
		}
	}
	if m.json {
		if err := printJSON(m.Stdout, doctorResult{worst, findings}); err != nil {
			return err
		}
	} else if _, err := io.WriteString(m.Stdout, b.String()); err != nil {
		return err
	}
	switch worst {
	case control.SeverityError:
		return &control.Error{Message: "something does not work; see above", ExitCode: exitDoctorError}
	case control.SeverityWarning:
		return &control.Error{Message: "something needs attention; see above", ExitCode: exitDoctorWarning}
	}
	return nil
}
