package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// People and tokens are managed beside a running daemon, and the configuration
// that it loaded is in the audit. No secret is in its log.
func TestPeopleBesideTheDaemon(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	box, file := filepath.Join(dir, "box"), filepath.Join(dir, "people.toml")
	if err := os.WriteFile(file, []byte("data_dir = \"box\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", file)
	daemon := start(t, "serve", "-c", file)
	invited := runJSON[control.Invited](t, "user", "add", "ann@example.com", "--admin", "-c", file)
	token := runJSON[control.NewToken](t, "token", "create", "ann@example.com", "--scope", "admin", "--data", box)
	if listed := runJSON[[]control.ListedToken](t, "token", "list", "--data", box); len(listed) != 1 || !listed[0].Valid || listed[0].ID != token.ID {
		t.Errorf("tokens: %+v", listed)
	}
	run(t, "user", "alias", "ann@example.com", "ann@old.example", "--data", box)
	if people := runJSON[[]control.ListedPerson](t, "user", "list", "--data", box); len(people) != 1 || len(people[0].Addresses) != 2 {
		t.Errorf("people: %+v", people)
	}
	for _, words := range [][]string{{"user", "alias"}, {"user", "remove"}, {"token", "list"}, {"audit", "--person"}} {
		if out := run(t, slices.Concat([]string{"__complete", "--data", box}, words, []string{""})...); !strings.HasPrefix(out, "ann@example.com\n") {
			t.Errorf("%s is completed with %q", words, out)
		}
	}
	if out := run(t, "__complete", "--data", box, "user", "alias", "ann@example.com", ""); strings.Contains(out, "@") {
		t.Errorf("a new address is completed with %q", out)
	}
	audit := run(t, "audit", "--data", box)
	for _, row := range []string{"system  configuration  ", "command  token.made  ann@example.com  token 1", "command  address.added  ann@example.com"} {
		if !strings.Contains(audit, row) {
			t.Errorf("the audit has no %q:\n%s", row, audit)
		}
	}
	daemon.stop()
	run(t, "verify", "--data", box)
	for _, secret := range []string{token.Secret, invited.Link[strings.LastIndex(invited.Link, "=")+1:]} {
		if strings.Contains(daemon.log()+audit, secret) {
			t.Error("a secret is in the log or in the audit")
		}
	}
}

// TestPageHasItsOwnCertificate serves the page over TLS, and health and metrics beside it,
// which nobody signs in for.
func TestPageHasItsOwnCertificate(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	own := httptest.NewTLSServer(nil) // whose certificate is for example.com
	own.Close()
	certificate := own.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	beside := testrun.FreeAddress(t)
	for name, content := range map[string][]byte{
		"c.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		"k.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"config.toml": fmt.Appendf(nil, "data_dir = \"box\"\n[web]\naccess = \"people\"\npublic_url = \"https://example.com\"\ntls_cert = %q\ntls_key = %q\nmetrics_listen = %q\n",
			filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem"), beside),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "config.toml")
	run(t, "init", "-c", file)
	serving := start(t, "serve", "-c", file)
	listens := serving.pageAddress()
	roots := x509.NewCertPool()
	roots.AddCert(own.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "example.com:443" {
				address = listens
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	for address, want := range map[string]int{
		"https://example.com/": 200, "https://example.com/metrics": 401, "http://" + listens + "/": 400,
		"http://" + beside + "/metrics": 200, "http://" + beside + "/readyz": 200, "http://" + beside + "/": 404, "http://" + beside + "/api/v1/meetings": 404,
	} {
		resp, err := client.Get(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", address, resp.StatusCode, want)
		}
	}
	serving.stop()
	for _, public := range []string{"", "public_url = \"https://localhost:1\"\n"} {
		text := fmt.Sprintf("data_dir = \"box\"\n[web]\ntls_cert = %q\ntls_key = %q\n%s", filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem"), public)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		owners := start(t, "serve", "-c", file)
		if resp, err := client.Get(owners.url); err != nil || resp.Body.Close() != nil || resp.StatusCode != 200 || !strings.HasPrefix(owners.url, "https://127.0.0.1:") {
			t.Errorf("the owner's page at %s: %+v, %v", owners.url, resp, err)
		}
		owners.stop()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := &config.Config{Web: config.Web{TLSCert: "c.pem"}}
	if got := (&daemon{webListener: l}).urlOfPage(cfg); got != "https://"+l.Addr().String() {
		t.Errorf("links lead to %s", got)
	}
}
