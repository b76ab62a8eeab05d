package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadWeb loads a configuration with lines under [web], which may go on with
// other tables. FILE stands for a file with a secret.
func loadWeb(t *testing.T, lines string, environ ...string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(t, "data_dir = \"d\"\n[web]\n"+strings.ReplaceAll(lines, "FILE", file), environ...)
}

// remedyLines are the two lines that an owner's configuration is told to write.
var remedyLines = []string{`access = "people"`, `public_url = "https://minutes.example"`}

const (
	people = "access = \"people\"\npublic_url = \"https://minutes.example\"\n"
	proxy  = "access = \"proxy\"\npublic_url = \"https://minutes.example\"\nproxy_header = \"Remote-User\"\n"
	oidc   = people + "[web.oidc]\nissuer = \"https://id.example\"\nclient_id = \"m\"\nclient_secret_file = \"FILE\"\n"
)

// A configuration that would let everybody in is refused.
func TestLoadRefusesAnOpenPage(t *testing.T) {
	for _, tt := range []struct {
		name, lines string
		want        []string
	}{
		{"owner on every address", `listen = "0.0.0.0:8377"`, append(remedyLines, "web.listen")},
		{"owner on every IPv6 address", `listen = "[::]:8377"`, append(remedyLines, "web.listen")},
		{"owner on every address, unsaid", `listen = ":8377"`, append(remedyLines, "web.listen")},
		{"owner on the network", `listen = "192.168.1.2:8377"`, append(remedyLines, "web.listen")},
		{"owner under a name", `listen = "minutes.home:8377"`, append(remedyLines, "web.listen")},
		{"owner on the network, mapped", `listen = "[::ffff:192.168.1.2]:8377"`, append(remedyLines, "web.listen")},
		{"owner behind a proxy by hosts", `hosts = ["localhost", "minutes.home"]`, append(remedyLines, "web.hosts")},
		{"owner behind a proxy by public_url", `public_url = "https://minutes.example"`, append(remedyLines, "web.public_url")},
		{"owner behind a proxy by trusted_proxies", `trusted_proxies = ["127.0.0.1/32"]`, append(remedyLines, "web.trusted_proxies")},
		{"owner with TLS on the network", "listen = \"0.0.0.0:1\"\ntls_cert = \"c\"\ntls_key = \"k\"", append(remedyLines, "web.listen")},
		{"owner with the service on the network", "listen = \"0.0.0.0:1\"\n[service]\nenabled = true", append(remedyLines, "web.listen")},
		{"a port that is none", `listen = "127.0.0.1:99999"`, []string{"web.listen", "write host:port"}},
		{"metrics at a port that is none", `metrics_listen = "127.0.0.1:-1"`, []string{"web.metrics_listen", "write host:port"}},
		{"a receiver at a port that is none", "[receiver]\nlisten = \"127.0.0.1:https port\"", []string{"receiver.listen", "write host:port"}},
		{"owner with a header", `proxy_header = "Remote-User"`, []string{"web.proxy_header", `access = "proxy"`}},
		{"owner with networks", `proxy_networks = ["127.0.0.1/32"]`, []string{"web.proxy_header", `access = "proxy"`}},
		{"owner with OIDC", strings.Replace(oidc, people, "", 1), []string{"web.oidc", `access = "people"`}},
		{"unknown access", `access = "everybody"`, []string{"web.access", "owner, people, proxy"}},
		{"empty access", `access = ""`, []string{"web.access"}},

		{"people without an address", `access = "people"`, []string{"web.public_url", "is missing"}},
		{"people over http", "access = \"people\"\npublic_url = \"http://minutes.example\"", []string{"web.public_url", "https"}},
		{"people over http in the house", "access = \"people\"\npublic_url = \"http://192.168.1.2:8377\"", []string{"web.public_url", "https"}},
		{"people with a certificate over http", "access = \"people\"\npublic_url = \"http://localhost\"\ntls_cert = \"c\"\ntls_key = \"k\"", []string{"web.public_url", "https"}},
		{"people with a header", people + `proxy_header = "Remote-User"`, []string{"web.proxy_header", `access = "proxy"`}},
		{"people who trust every proxy", people + `trusted_proxies = ["0.0.0.0/0"]`, []string{"web.trusted_proxies", "too wide"}},

		{"proxy without a header", "access = \"proxy\"\npublic_url = \"https://minutes.example\"\nproxy_networks = [\"127.0.0.1/32\"]", []string{"web.proxy_header", "is missing"}},
		{"proxy with the browser's header", strings.Replace(proxy, "Remote-User", "cookie", 1) + `proxy_networks = ["127.0.0.1/32"]`, []string{"web.proxy_header", "Cookie"}},
		{"proxy with the client's address", strings.Replace(proxy, "Remote-User", "X-Forwarded-For", 1) + `proxy_networks = ["127.0.0.1/32"]`, []string{"web.proxy_header"}},
		{"proxy with a bad header", strings.Replace(proxy, "Remote-User", "Remote User:", 1) + `proxy_networks = ["127.0.0.1/32"]`, []string{"web.proxy_header", "no name"}},
		{"proxy without networks", proxy, []string{"web.proxy_networks", "is missing"}},
		{"proxy from everywhere", proxy + `proxy_networks = ["0.0.0.0/0"]`, []string{"web.proxy_networks", "too wide"}},
		{"proxy from everywhere by IPv6", proxy + `proxy_networks = ["::/0"]`, []string{"web.proxy_networks", "too wide"}},
		{"proxy from both halves", proxy + `proxy_networks = ["0.0.0.0/1", "128.0.0.0/1"]`, []string{"web.proxy_networks", "0.0.0.0/1", "128.0.0.0/1"}},
		{"proxy from everywhere, mapped", proxy + `proxy_networks = ["::ffff:0:0/96"]`, []string{"web.proxy_networks", "IPv4"}},
		{"proxy from more than a private range", proxy + `proxy_networks = ["10.0.0.0/7"]`, []string{"web.proxy_networks"}},
		{"proxy from more than the unique local range", proxy + `proxy_networks = ["fc00::/6"]`, []string{"web.proxy_networks"}},
		{"proxy from no network", proxy + `proxy_networks = ["127.0.0.1"]`, []string{"web.proxy_networks", "127.0.0.1/32"}},
		{"proxy with OIDC", strings.Replace(oidc, people, proxy+"proxy_networks = [\"127.0.0.1/32\"]\n", 1), []string{"web.oidc"}},
		{"proxy over http", strings.Replace(proxy, "https:", "http:", 1) + `proxy_networks = ["127.0.0.1/32"]`, []string{"web.public_url", "https"}},

		{"OIDC for every domain", oidc + `join = "domain"`, []string{"web.oidc.allowed_domains", "is missing"}},
		{"OIDC for everybody with an address", oidc + "join = \"domain\"\nallowed_domains = [\"gmail.com\"]", []string{"web.oidc.allowed_domains", "gmail.com"}},
		{"OIDC for a country", oidc + "join = \"domain\"\nallowed_domains = [\"co.uk\"]", []string{"web.oidc.allowed_domains", "co.uk"}},
		{"OIDC for a pattern", oidc + `allowed_domains = ["*.example.com"]`, []string{"web.oidc.allowed_domains"}},
		{"OIDC for a capital domain", oidc + `allowed_domains = ["Example.com"]`, []string{"web.oidc.allowed_domains"}},
		{"OIDC for an empty domain", oidc + `allowed_domains = [""]`, []string{"web.oidc.allowed_domains"}},
		{"OIDC that joins in another way", oidc + `join = "everybody"`, []string{"web.oidc.join"}},
		{"OIDC that trusts every address of many organisations", strings.Replace(oidc, "https://id.example", "https://login.microsoftonline.com/common/v2.0", 1) + "trust_email = true",
			[]string{"web.oidc.trust_email"}},
		{"OIDC over http", strings.Replace(oidc, "https://id.", "http://id.", 1), []string{"web.oidc.issuer"}},
		{"own accounts of an owner", "[web.accounts]\nkey_file = \"FILE\"", []string{"web.accounts", "[[accounts]]"}},
		{"own accounts without a key", people + "[web.accounts.oauth]\nclient_id = \"m\"\nclient_secret_file = \"FILE\"", []string{"web.accounts.key_file"}},
		{"an app without a secret", people + "[web.accounts]\nkey_file = \"FILE\"\n[web.accounts.oauth]\nclient_id = \"m\"", []string{"web.accounts.oauth", "client_secret_file"}},
		{"own accounts of nowhere", people + "[web.accounts]\nbase_url = \"service\"", []string{"web.accounts.base_url"}},
		{"a key that is nowhere", people + "[web.accounts]\nkey_file = \"nowhere\"", []string{"web.accounts.key_file"}},
		{"OIDC without an issuer", people + "[web.oidc]\nclient_id = \"m\"", []string{"web.oidc.issuer", "web.oidc.client_secret_file"}},
		{"OIDC without a secret", strings.Replace(oidc, "client_secret_file", "#", 1), []string{"web.oidc.client_secret_file", "MINUTEBOOK_WEB_OIDC_CLIENT_SECRET"}},
		{"OIDC whose secret is not there", strings.Replace(oidc, "FILE", "nowhere", 1), []string{"web.oidc.client_secret_file"}},

		{"half of TLS", `tls_cert = "c"`, []string{"web.tls_key"}},
		{"an address that is none", "access = \"people\"\npublic_url = \"minutes.example\"", []string{"web.public_url"}},
		{"an owner's address with a path", `public_url = "http://localhost:8377/minutes"`, []string{"web.public_url", "path"}},
		{"a path with spaces", "access = \"people\"\npublic_url = \"https://example.com/my minutes\"", []string{"web.public_url", "my%20minutes"}},
		{"a path that is escaped", "access = \"people\"\npublic_url = \"https://example.com/a%2Fb\"", []string{"web.public_url", "a%2Fb"}},
		{"a path that leads up", "access = \"people\"\npublic_url = \"https://example.com/minutes/..\"", []string{"web.public_url", ".."}},
		{"a path with an empty part", "access = \"people\"\npublic_url = \"https://example.com//minutes\"", []string{"web.public_url"}},
		{"a path that ends a cookie", "access = \"people\"\npublic_url = \"https://example.com/a;b\"", []string{"web.public_url"}},
		{"nobody can sign in", people + "passwords = false", []string{"web.passwords"}},
		{"an address with a query", "access = \"people\"\npublic_url = \"https://minutes.example?a=b\"", []string{"web.public_url"}},
		{"an address with a user", "access = \"people\"\npublic_url = \"https://a:b@minutes.example\"", []string{"web.public_url"}},
		{"a host with a port", people + `hosts = ["minutes.example:8377"]`, []string{"web.hosts"}},
		{"every host", people + `hosts = ["*"]`, []string{"web.hosts"}},
		{"metrics on the page's port", "listen = \"127.0.0.1:1\"\nmetrics_listen = \"127.0.0.1:1\"", []string{"web.metrics_listen"}},
		{"metrics nowhere", `metrics_listen = "here"`, []string{"web.metrics_listen"}},
		{"an audit of an hour", "[audit]\nkeep = \"1h\"", []string{"audit.keep"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadWeb(t, tt.lines)
			if err == nil {
				t.Fatal("loaded")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %q has the secret", err)
			}
		})
	}
}

func TestLoadAcceptsEachWayIn(t *testing.T) {
	for _, tt := range []struct{ name, lines string }{
		{"owner", ""},
		{"owner on IPv6", `listen = "[::1]:8377"`},
		{"owner under loopback names", "listen = \"localhost:0\"\nhosts = [\"minutes.localhost\", \"127.0.0.2\", \"::1\"]\npublic_url = \"http://minutes.localhost:8377\""},
		{"owner with the service", "[service]\nenabled = true"},
		{"owner with metrics elsewhere", `metrics_listen = "10.0.0.2:8379"`},
		{"people", people},
		{"people on every address, with TLS", people + "listen = \"0.0.0.0:443\"\ntls_cert = \"c\"\ntls_key = \"k\""},
		{"people behind a proxy", people + "listen = \"0.0.0.0:8377\"\ntrusted_proxies = [\"172.16.0.0/12\", \"fc00::/7\", \"203.0.113.0/24\", \"2001:db8::/32\"]"},
		{"OIDC alone", strings.Replace(oidc, "[web.oidc]", "passwords = false\n[web.oidc]", 1)},
		{"people on this machine", "access = \"people\"\npublic_url = \"http://localhost:8377\""},
		{"people under a path", "access = \"people\"\npublic_url = \"https://example.com/tools/minute_book-2.0/\""},
		{"people with the service", people + "[service]\nenabled = true"},
		{"people with further names", people + `hosts = ["minutes.home", "192.168.1.2"]`},
		{"proxy", proxy + `proxy_networks = ["127.0.0.1/32", "::1/128", "10.0.0.0/8", "192.168.0.0/16"]`},
		{"OIDC", oidc},
		{"OIDC for a domain", oidc + "join = \"domain\"\nallowed_domains = [\"example.com\", \"corp.example.co.uk\"]"},
		{"OIDC for the directory", oidc + "join = \"directory\"\nadmin_group = \"minutes\""},
		{"OIDC of one organisation", strings.Replace(oidc, "https://id.example", "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0", 1) + "trust_email = true"},
		{"OIDC on this machine", strings.Replace(oidc, "https://id.example", "http://127.0.0.1:9000", 1)},
		{"the audit for good", "[audit]\nkeep = \"0s\"\nreads = true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := loadWeb(t, tt.lines); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadReadsThePagesSecret(t *testing.T) {
	c, err := loadWeb(t, oidc)
	if err != nil || c.Web.OIDC.ClientSecret != "s3cret" || c.Web.PublicURL != "https://minutes.example" {
		t.Errorf("from the file: %v", err)
	}
	c, err = loadWeb(t, strings.Replace(oidc, "FILE", "nowhere", 1), "MINUTEBOOK_WEB_OIDC_CLIENT_SECRET=other")
	if err != nil || c.Web.OIDC.ClientSecret != "other" {
		t.Errorf("from the environment: %v", err)
	}
	c, err = loadWeb(t, `public_url = "http://localhost:8377/"`)
	if err != nil || c.Web.PublicURL != "http://localhost:8377" {
		t.Errorf("public_url: %v, %v", c, err)
	}
	_, err = loadWeb(t, `listen = "127.0.0.1:0"`, "MINUTEBOOK_WEB_LISTEN=0.0.0.0:8377")
	if err == nil || !strings.Contains(err.Error(), remedyLines[0]) {
		t.Errorf("opened by the environment: %v", err)
	}
}

// TestAccountKeysComeFromWhereTheyAreKept reads the keys for people's accounts from a
// file, from systemd's credentials and from the environment.
func TestAccountKeysComeFromWhereTheyAreKept(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(AccountsCredential, "credential\n")
	write("accounts.key", "file\n")
	const web = "data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n[web.accounts]\n"
	for _, c := range []struct {
		name, text string
		environ    []string
		want       string
	}{
		{"nowhere", web, nil, ""},
		{"a file", web + "key_file = \"accounts.key\"\n", []string{"CREDENTIALS_DIRECTORY=" + dir}, "file"},
		{"a credential", web, []string{"CREDENTIALS_DIRECTORY=" + dir}, "credential"},
		{"credentials without it", web, []string{"CREDENTIALS_DIRECTORY=" + t.TempDir()}, ""},
		{"the environment", web + "key_file = \"accounts.key\"\n", []string{"MINUTEBOOK_WEB_ACCOUNTS_KEYS=variable"}, "variable"},
	} {
		write("config.toml", c.text)
		loaded, err := Load(filepath.Join(dir, "config.toml"), "", c.environ)
		if err != nil || loaded.Web.Accounts.Keys != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, loaded.Web.Accounts.Keys, err, c.want)
		}
	}
}

// The page's address is kept as browsers write it: they send it so in Host and Origin, and
// bind passkeys to it.
func TestPublicURLIsAsBrowsersWriteIt(t *testing.T) {
	for given, want := range map[string]string{
		"https://Minutes.Example":             "https://minutes.example",
		"https://minutes.example./":           "https://minutes.example",
		"HTTPS://minutes.example:443/Minutes": "https://minutes.example/Minutes",
		"https://minutes.example:8443":        "https://minutes.example:8443",
		"http://LOCALHOST:80":                 "http://localhost",
		"https://münchen.example/m":           "https://xn--mnchen-3ya.example/m",
		"https://MÜNCHEN.example:8443":        "https://xn--mnchen-3ya.example:8443",
		"https://[FD00::0:1]:8443":            "https://[fd00::1]:8443",
		"https://my_host.example":             "https://my_host.example",
	} {
		c, err := loadWeb(t, "access = \"people\"\npublic_url = \""+given+"\"")
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if c.Web.PublicURL != want {
			t.Errorf("%s is kept as %s, want %s", given, c.Web.PublicURL, want)
		}
	}
	if _, err := loadWeb(t, "access = \"people\"\npublic_url = \"https://a\u0301-.xn--a.example\""); err == nil || !strings.Contains(err.Error(), "web.public_url") {
		t.Errorf("a name that is none: %v", err)
	}
}
