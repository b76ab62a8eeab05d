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
	"time"

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
	for range startTries {
		cmd := exec.Command(node, script, module, p.ClientID, p.ClientSecret, redirect)
		if inUserInfo {
			cmd.Env = append(os.Environ(), "CLAIMS_IN=userinfo")
		}
		if p.start(cmd) {
			return p
		}
	}
	t.Fatalf("the provider did not start in %d times %s", startTries, startTime)
	return nil
}

// On a busy machine Node.js was once seen to wait for itself at its start, for ever.
const (
	startTries = 3
	startTime  = time.Minute
)

// start starts the provider, and reports whether it has said its address within startTime.
func (p *Provider) start(cmd *exec.Cmd) bool {
	cmd.Stderr = p.t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	limit := time.AfterFunc(startTime, func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") && limit.Stop() {
			p.Issuer = lines.Text()
			p.t.Cleanup(end)
			return true
		}
	}
	limit.Stop()
	end()
	return false
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
