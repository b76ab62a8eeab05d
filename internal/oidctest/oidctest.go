// Package oidctest starts a real OpenID provider in tests: npm's oidc-provider, which
// is certified, in Node.js.
package oidctest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

//go:embed provider.mjs
var program []byte

// Provider is a running provider with one client.
type Provider struct {
	Issuer, ClientID, ClientSecret string

	t testing.TB
}

// Person is who sits in front of the browser: the claims about them, with "sub".
type Person map[string]any

// Start starts a provider until the test ends, for a client with the redirect address.
// The claims about a person are in the ID token, or with inUserInfo only at the
// userinfo endpoint. It skips the test where the user's cache has no oidc-provider,
// which make test puts there.
func Start(t testing.TB, redirect string, inUserInfo bool) *Provider {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	module := filepath.Join(cache, "minutebook", "oidc-provider", "node_modules", "oidc-provider", "lib", "index.js")
	node, err := exec.LookPath("node")
	if _, found := os.Stat(module); err != nil || found != nil {
		testrun.Lack(t, "oidc-provider")
	}
	script := filepath.Join(t.TempDir(), "provider.mjs")
	if err := os.WriteFile(script, program, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Provider{ClientID: "minutebook", ClientSecret: "a secret of the client", t: t}
	cmd := exec.Command(node, script, module, p.ClientID, p.ClientSecret, redirect)
	if inUserInfo {
		cmd.Env = append(os.Environ(), "CLAIMS_IN=userinfo")
	}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			p.Issuer = lines.Text()
			return p
		}
	}
	t.Fatalf("the provider did not start: %v", lines.Err())
	return nil
}

// Seat sets who sits in front of the browser. With nil it is nobody, and the
// provider does not know the last one any more.
func (p *Provider) Seat(person Person) {
	p.t.Helper()
	body, err := json.Marshal(person)
	if err != nil {
		p.t.Fatal(err)
	}
	p.post("/test/person", body)
}

// RotateKeys makes the provider sign with a new key. Its own sessions end with it.
func (p *Provider) RotateKeys() {
	p.t.Helper()
	p.post("/test/keys", nil)
}

func (p *Provider) post(path string, body []byte) {
	p.t.Helper()
	resp, err := http.Post(p.Issuer+path, "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("the provider answered %s to %s", resp.Status, path)
	}
}
