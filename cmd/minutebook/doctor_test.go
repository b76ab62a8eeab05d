package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestDoctorTriesEverything examines a daemon with one account that works and one with
// a wrong key, whose public address works, which refused a delivery and lost its index.
func TestDoctorTriesEverything(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir())
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir, inbound := t.TempDir(), testrun.FreeAddress(t)
	file := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[receiver]\nlisten = %q\npublic_url = \"http://%s\"\n", filepath.Join(dir, "data"), inbound, inbound)
	for name, key := range map[string]string{"ada": key, "bob": "wrong"} {
		text += fmt.Sprintf("[[accounts]]\nname = %q\nbase_url = \"%s/external/v1\"\napi_key = %q\nwebhook_secrets = [%q]\n", name, upstream.url, key, firstSecret)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "serve", "--create", "-c", file)
	delivery, err := http.NewRequest(http.MethodPost, "http://"+inbound+"/webhooks/ada", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	delivery.Header = http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {"1"}, "Webhook-Timestamp": {fmt.Sprint(time.Now().Unix())},
		"Webhook-Signature": {"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="}}
	if resp, err := http.DefaultClient.Do(delivery); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("a delivery by a wrong secret: %+v, %v", resp, err)
	}
	cmd := exec.Command("minutebook", "doctor", "--json", "-c", file)
	cmd.Env = withoutSettings()
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != exitDoctorError {
		t.Fatalf("exit code %d, %v: %s", cmd.ProcessState.ExitCode(), err, out)
	}
	var got struct{ Findings []control.Finding }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []control.Finding{
		{Subject: "account ada", Severity: "ok"}, {Subject: "account bob", Severity: "error"}, {Subject: "clock", Severity: "ok"},
		{Subject: "deliveries", Severity: "warning"}, {Subject: "deliveries", Severity: "ok"}, {Subject: "archive", Severity: "ok"}, {Subject: "versions", Severity: "ok"}, {Subject: "configuration", Severity: "ok"},
	} {
		if !slices.ContainsFunc(got.Findings, func(f control.Finding) bool { return f.Subject == want.Subject && f.Severity == want.Severity }) {
			t.Errorf("no finding %+v among %s", want, out)
		}
	}
	for _, f := range got.Findings {
		if f.Remedy == "" && (f.Severity == control.SeverityWarning || f.Severity == control.SeverityError) {
			t.Errorf("a finding without a remedy: %+v", f)
		}
	}
}

// TestDoctorAsksTheProvider has an OpenID provider that answers, one that is another
// issuer than the configuration says, and one that is away.
func TestDoctorAsksTheProvider(t *testing.T) {
	var issuer string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/openid-configuration" {
			fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": %[1]q, "token_endpoint": %[1]q, "jwks_uri": %[1]q}`, issuer)
		}
	}))
	defer provider.Close()
	for _, tc := range []struct {
		issuer string
		want   control.Severity
	}{{provider.URL, control.SeverityOK}, {"https://id.example", control.SeverityError}, {"", control.SeverityError}} {
		if issuer = tc.issuer; issuer == "" {
			provider.Close()
		}
		cfg := config.Default()
		cfg.Web.OIDC.Issuer = provider.URL
		if got := examineProvider(t.Context(), &cfg); len(got) != 1 || got[0].Severity != tc.want || (tc.want != control.SeverityOK) != (got[0].Remedy != "") {
			t.Errorf("the provider calls itself %q: %+v", tc.issuer, got)
		}
	}
	cfg := config.Default()
	if got := examineProvider(t.Context(), &cfg); got != nil {
		t.Errorf("without a provider: %+v", got)
	}
}

// TestDoctorReadsCertificates has one that is good, one that ends soon, one that has ended,
// one for another name, and one with another's key.
func TestDoctorReadsCertificates(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	write := func(name string, until time.Time) (cert, key string) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: until, DNSNames: []string{"minutes.example"}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
			if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return cert, key
	}
	good, goodKey := write("good", now.Add(90*24*time.Hour))
	soon, soonKey := write("soon", now.Add(24*time.Hour))
	ended, endedKey := write("ended", now.Add(-time.Hour))
	for _, c := range []struct {
		cert, key, host string
		severity        control.Severity
		text            string
	}{
		{good, goodKey, "minutes.example", control.SeverityOK, "is good until"},
		{soon, soonKey, "minutes.example", control.SeverityWarning, "expires at"},
		{ended, endedKey, "minutes.example", control.SeverityError, "has expired"},
		{good, goodKey, "other.example", control.SeverityError, "is not for other.example"},
		{good, soonKey, "minutes.example", control.SeverityError, "cannot be used with"},
		{good, filepath.Join(dir, "none"), "minutes.example", control.SeverityError, "none is not there; correct the path"},
	} {
		cfg := config.Default()
		cfg.Receiver.PublicURL, cfg.Receiver.TLSCert, cfg.Receiver.TLSKey = "https://"+c.host, c.cert, c.key
		findings := examineCertificates(&cfg, now)
		if len(findings) != 1 || findings[0].Severity != c.severity || !strings.Contains(findings[0].Text, c.text) || findings[0].Remedy == "" && c.severity != control.SeverityOK {
			t.Errorf("%+v: %+v", c, findings)
		}
	}
}

// TestDoctorAsksForTheOwnersPage has a page that asks nobody who they are, with a public address.
func TestDoctorAsksForTheOwnersPage(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen = t.TempDir(), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	d, err := startDaemon(ctx, &cfg, zerolog.Nop(), appOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	runDaemon(t, ctx, cancel, d)
	public := cfg
	public.Web.PublicURL = "http://" + d.webListener.Addr().String()
	if findings := examinePage(t.Context(), &public); len(findings) != 1 || findings[0].Severity != control.SeverityOK {
		t.Errorf("%+v", findings)
	}
}

// TestDoctorLeavesTheServiceItsFiles has an archive of the service's user: a secret of another
// owner has to be read by the service's group, and the copies of systemd and of a container are
// not to be changed.
func TestDoctorLeavesTheServiceItsFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	const user = 65532
	dir := t.TempDir()
	data, own, file := filepath.Join(dir, "data"), filepath.Join(dir, "own.key"), filepath.Join(dir, "config.toml")
	credentials, secrets := filepath.Join(dir, "credentials"), filepath.Join(dir, containerSecrets)
	text := fmt.Sprintf("data_dir = %q\n[[accounts]]\nname = \"ada\"\nbase_url = \"https://service.example/external/v1\"\napi_key = \"k\"\n"+
		"[[accounts]]\nname = \"bob\"\nbase_url = \"https://service.example/external/v1\"\napi_key_file = \"bob.key\"\n"+
		"[[accounts]]\nname = \"cy\"\nbase_url = \"https://service.example/external/v1\"\napi_key_file = \"own.key\"\n"+
		"[[accounts]]\nname = \"dan\"\nbase_url = \"https://service.example/external/v1\"\napi_key_file = \"run/secrets/dan\"\n", data)
	for _, err := range []error{os.Mkdir(data, 0o700), os.Mkdir(credentials, 0o700), os.WriteFile(file, []byte(text), 0o600), os.WriteFile(own, []byte("k"), 0o600),
		os.WriteFile(filepath.Join(credentials, "bob.key"), []byte("k"), 0o600), os.Chmod(filepath.Join(credentials, "bob.key"), 0o444),
		os.MkdirAll(secrets, 0o755), os.WriteFile(filepath.Join(secrets, "dan"), []byte("k"), 0o600), os.Chmod(filepath.Join(secrets, "dan"), 0o444), os.Chown(data, user, user), os.Chown(own, user, user), os.Chown(file, 0, user)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		file, own os.FileMode
		want      []string
	}{
		{0o640, 0o600, []string{""}},
		{0o644, 0o600, []string{"chmod o= " + file}},
		{0o640, 0o640, []string{"chmod 600 " + own}},
	} {
		if err := errors.Join(os.Chmod(file, tc.file), os.Chmod(own, tc.own)); err != nil {
			t.Fatal(err)
		}
		m := &Main{root: dir, configPath: file, Environ: []string{"CREDENTIALS_DIRECTORY=" + credentials}}
		cfg, err := m.loadConfig()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range m.examineModes(cfg) {
			got = append(got, f.Remedy)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("config.toml is %v, the service's own file %v: remedies %q", tc.file, tc.own, got)
		}
	}
}

// TestDoctorAdvisesANetwork has advice that the configuration takes: trusted_proxies are networks.
func TestDoctorAdvisesANetwork(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8378": "add 127.0.0.1/32 to receiver.trusted_proxies",
		"[::1]:8378":     "add ::1/128 to receiver.trusted_proxies",
		"0.0.0.0:8378":   "add the proxy's network, such as 192.0.2.1/32, to receiver.trusted_proxies",
	} {
		found := examineProxy(&config.Config{Receiver: config.Receiver{PublicURL: "https://hooks.example", Listen: listen}}, nil)
		if len(found) != 1 || found[0].Remedy != want {
			t.Errorf("%s: %+v", listen, found)
		}
	}
}

// TestDoctorNamesAProxy has doctor name the proxy that a daemon sees and does not believe,
// whichever others the configuration names, until it names this one too.
func TestDoctorNamesAProxy(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newServed(t, "http://"+testrun.FreeAddress(t)+"/external/v1", "mbk_nobody_answers_there")
	raw, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	advised := func(trusted string) bool {
		t.Helper()
		text := strings.Replace(string(raw), "[receiver]\n", "[receiver]\ntrusted_proxies = ["+trusted+"]\n", 1)
		if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.start()
		defer s.stop(syscall.SIGINT)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.receiver+"/webhooks/anna", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "198.51.100.9")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		out, _ := exec.Command("minutebook", "doctor", "--offline", "--json", "-c", s.config).Output()
		return strings.Contains(string(out), `add 127.0.0.1/32 to receiver.trusted_proxies`)
	}
	if !advised(`"192.0.2.1/32"`) {
		t.Error("the proxy is not named")
	}
	if advised(`"127.0.0.0/8"`) {
		t.Error("a proxy that is trusted is named")
	}
}

// TestDoctorJudgesProxies by the listener to which they come, and how people enter.
func TestDoctorJudgesProxies(t *testing.T) {
	seen := map[string][]netip.Addr{"web": {netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("::1")}}
	for _, tc := range []struct {
		web  config.Web
		want string
	}{
		{config.Web{Access: config.AccessPeople}, "if your proxy is there, add 172.18.0.3/32, ::1/128 to web.trusted_proxies"},
		{config.Web{Access: config.AccessPeople, TrustedProxies: []string{"::1/128"}}, "if your proxy is there, add 172.18.0.3/32 to web.trusted_proxies"},
		{config.Web{Access: config.AccessProxy, ProxyNetworks: []string{"::1/128", "172.16.0.0/12"}}, ""},
		{config.Web{Access: config.AccessOwner}, ""},
	} {
		got := ""
		for _, f := range examineProxy(&config.Config{Web: tc.web}, seen) {
			got += f.Remedy
		}
		if got != tc.want {
			t.Errorf("%+v: %q, not %q", tc.web, got, tc.want)
		}
	}
}
