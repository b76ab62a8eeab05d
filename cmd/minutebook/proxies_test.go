package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/receiver"
)

// TestDocumentedProxies runs Caddy and nginx, with the blocks of the documents, before daemons
// with the configurations there. The names of the documents lead to the proxy.
func TestDocumentedProxies(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	const module = "github.com/caddyserver/caddy/v2"
	caddy := testrun.Build(t, module, module+"/cmd/caddy", "v2.11.9")
	t.Run("proxy", func(t *testing.T) {
		d := startBehind(t, documentedBlock(t, "how-to/proxy.md", "# Behind a proxy", "toml"))
		browser := startCaddy(t, caddy, d.ports.Replace(documentedBlock(t, "how-to/proxy.md", "# Behind a proxy", "")))
		signIn(t, browser, d, "https://minutes.example.org")
		deliverBy(t, browser, "https://hooks.example.org")
	})
	t.Run("compose.yaml", func(t *testing.T) {
		raw, err := os.ReadFile("../../packaging/Caddyfile")
		if err != nil {
			t.Fatal(err)
		}
		d := startBehind(t, documentedBlock(t, "how-to/proxy.md", "# Behind a proxy", "toml"))
		t.Setenv("DOMAIN", "minutes.example.org")
		text := strings.NewReplacer("minutebook:", "127.0.0.1:").Replace(string(raw))
		browser := startCaddy(t, caddy, d.ports.Replace(text))
		signIn(t, browser, d, "https://minutes.example.org")
		deliverBy(t, browser, "https://hooks.minutes.example.org")
	})
	t.Run("receiver", func(t *testing.T) {
		d := startBehind(t, documentedBlock(t, "receiver.md", "## Behind a proxy", "toml"))
		browser := startCaddy(t, caddy, d.ports.Replace(documentedBlock(t, "receiver.md", "\nCaddy:\n", "")))
		deliverBy(t, browser, "https://hooks.example.org")
		t.Run("nginx", func(t *testing.T) {
			nginx, err := exec.LookPath("nginx")
			if err != nil {
				t.Skip("this test needs nginx, whose package would start a server")
			}
			browser := startNginx(t, nginx, d.ports.Replace(documentedBlock(t, "receiver.md", "\nnginx:\n", "")))
			deliverBy(t, browser, "https://hooks.example.org")
		})
	})
	t.Run("departments", func(t *testing.T) {
		sales := documentedBlock(t, "how-to/departments.md", "# An archive", "toml")
		block := documentedBlock(t, "how-to/departments.md", "# An archive", "")
		all := []behind{startBehind(t, sales), startBehind(t, strings.NewReplacer("sales", "legal", "8381", "8382").Replace(sales))}
		for _, d := range all {
			block = d.ports.Replace(block)
		}
		browser := startCaddy(t, caddy, block)
		for i, path := range []string{"/sales", "/legal"} {
			signIn(t, browser, all[i], "https://minutes.example.org"+path)
		}
	})
	t.Run("path", func(t *testing.T) {
		d := startBehind(t, "[web]\naccess = \"people\"\npublic_url = \"https://example.org/minutebook\"\ntrusted_proxies = [\"127.0.0.1/32\"]\n")
		browser := startCaddy(t, caddy, d.ports.Replace(documentedBlock(t, "access.md", "### Under a path", "")))
		signIn(t, browser, d, "https://example.org/minutebook")
	})
	t.Run("sign-in", func(t *testing.T) { proxySignsIn(t, caddy) })
}

// proxySignsIn has a proxy sign people in: who they are is the proxy's word alone.
func proxySignsIn(t *testing.T, caddy string) {
	text := documentedBlock(t, "access.md", "\n## proxy\n", "toml")
	d := startBehind(t, regexp.MustCompile(`public_url = .*`).ReplaceAllString(text, `public_url = "https://example.org/minutebook"`))
	// A service that names who has its cookie, lets some through without a name, and refuses others.
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch session, err := r.Cookie("session"); {
		case err != nil:
			w.WriteHeader(http.StatusUnauthorized)
		case session.Value != "bypass":
			w.Header().Set("Remote-Email", session.Value)
		}
	}))
	defer service.Close()
	block := documentedBlock(t, "access.md", "In Caddy, under a path:", "")
	browser := startCaddy(t, caddy, strings.Replace(d.ports.Replace(block), "127.0.0.1:9091", service.Listener.Addr().String(), 1))
	run(t, "user", "add", "ann@example.com", "--admin", "-c", d.config)
	for _, c := range []struct {
		path, session string
		status        int
		arrives       bool // at the page, which says more than the service
	}{
		{"/people", "ann@example.com", http.StatusOK, true},
		{"/people", "", http.StatusUnauthorized, false},
		{"/people", "bypass", http.StatusUnauthorized, true},
		{"/feeds/unknown", "", http.StatusNotFound, true},
		{"/unsubscribe/unknown", "", http.StatusNotFound, true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://example.org/minutebook"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Remote-Email", "ann@example.com") // as a visitor who would be somebody else
		if c.session != "" {
			req.AddCookie(&http.Cookie{Name: "session", Value: c.session})
		}
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || (len(body) > 0) != c.arrives {
			t.Errorf("%s for the session %q: %s, want %d: %.300s", c.path, c.session, resp.Status, c.status, body)
		}
	}
}

// behind is a daemon behind a proxy.
type behind struct {
	config string
	ports  *strings.Replacer // puts the daemon's addresses into a block for a proxy
}

// startBehind starts a daemon with a documented configuration: its data and keys are here, and
// its ports are free ones.
func startBehind(t *testing.T, text string) behind {
	t.Helper()
	dir := t.TempDir()
	d := behind{config: filepath.Join(dir, "config.toml")}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("mbk_nobody_answers_there"), 0o600); err != nil {
		t.Fatal(err)
	}
	page, inbound := "127.0.0.1:8377", testrun.FreeAddress(t)
	if found := regexp.MustCompile(`127\.0\.0\.1:838\d`).FindString(text); found != "" {
		page = found
	}
	text = regexp.MustCompile(`(?m)^(data_dir|api_key_file) = .*\n`).ReplaceAllString(text, "")
	text = strings.Replace(text, "127.0.0.1:8378", inbound, 1)
	if !strings.Contains(text, "[[accounts]]") {
		text += "\n[[accounts]]\nname = \"anna\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\n"
	}
	text = fmt.Sprintf("data_dir = %q\n", filepath.Join(dir, "data")) + text + fmt.Sprintf("api_key_file = %q\nwebhook_secrets = [%q]\n", key, serveSecret)
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.ports = strings.NewReplacer(page, start(t, "serve", "--create", "-c", d.config).pageAddress(), "127.0.0.1:8378", inbound)
	return d
}

// signIn makes the first admin, who sets a password through the proxy as a browser does.
func signIn(t *testing.T, browser *http.Client, d behind, page string) {
	t.Helper()
	link := runJSON[control.Invited](t, "user", "add", "ann@example.com", "--admin", "-c", d.config).Link
	address, secret, found := strings.Cut(link, "?secret=")
	if !found || address != page+"/invitation" {
		t.Fatalf("the invitation leads to %s", address)
	}
	resp, err := browser.Get(page) // without a slash at its end
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Request.URL.String(), page+"/") {
		t.Errorf("%s leads to %s, %s", page, resp.Request.URL, resp.Status)
	}
	form := url.Values{"secret": {secret}, "password": {"correct horse"}, "again": {"correct horse"}}
	req, err := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "https://"+req.URL.Host)
	resp, err = browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Request.URL.String() != page+"/" {
		t.Errorf("signing in at %s leads to %s, %s: %.300s", page, resp.Request.URL, resp.Status, body)
	}
}

// deliverBy sends a signed delivery through the proxy.
func deliverBy(t *testing.T, browser *http.Client, hooks string) {
	t.Helper()
	body := append([]byte(`{"recording_id":1,"title":"`), bytes.Repeat([]byte("a"), 2<<20)...) // more than nginx takes by itself
	req, err := receiver.SignedRequest(t.Context(), hooks+"/webhooks/anna", serveSecret, fmt.Sprint("msg_", time.Now().UnixNano()), time.Now(), append(body, `"}`...))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a delivery by %s: %s, %.300s", hooks, resp.Status, answer)
	}
}

// startCaddy starts a Caddy with certificates of its own, and returns a browser that trusts them.
func startCaddy(t *testing.T, program, block string) *http.Client {
	t.Helper()
	dir, inbound := t.TempDir(), testrun.FreeAddress(t)
	_, port, _ := net.SplitHostPort(inbound)
	options := fmt.Sprintf("{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port %s\n\tstorage file_system %s\n}\n", port, dir)
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(options+block), 0o600); err != nil {
		t.Fatal(err)
	}
	startProxy(t, inbound, exec.Command(program, "run", "--adapter", "caddyfile", "--config", file))
	var root []byte
	eventually(t, "Caddy has a certificate", func() (bool, any) {
		var err error
		root, err = os.ReadFile(filepath.Join(dir, "pki/authorities/local/root.crt"))
		return err == nil, err
	})
	return browserAt(t, inbound, root)
}

// startNginx starts an nginx with a certificate of its own, and returns a browser that trusts it.
func startNginx(t *testing.T, program, block string) *http.Client {
	t.Helper()
	dir, inbound := t.TempDir(), testrun.FreeAddress(t)
	root := writeCertificate(t, dir, "hooks.example.org")
	block = strings.NewReplacer("listen 443", "listen "+inbound, "/etc/ssl", dir).Replace(block)
	text := "daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off; client_body_temp_path body; " +
		"proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" + block + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startProxy(t, inbound, exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr"))
	return browserAt(t, inbound, root)
}

// writeCertificate writes hooks.pem and hooks.key, and returns the certificate.
func writeCertificate(t *testing.T, dir, host string) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"hooks.pem": certificate, "hooks.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

// startProxy starts a proxy and waits until it listens.
func startProxy(t *testing.T, inbound string, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); log.Close() })
	eventually(t, "the proxy listens", func() (bool, any) {
		conn, err := net.Dial("tcp", inbound)
		if err != nil {
			said, _ := os.ReadFile(log.Name())
			return false, string(said)
		}
		return true, conn.Close()
	})
}

// browserAt returns a browser for which every name leads to an address.
func browserAt(t *testing.T, address string, root []byte) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(root) {
		t.Fatalf("%q is no certificate", root)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}
