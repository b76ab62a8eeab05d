package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExampleLoads loads config.example.toml, as it is and with every setting
// that is commented out put in force: the values shown are the defaults.
func TestExampleLoads(t *testing.T) {
	raw, err := os.ReadFile("../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"ada.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("k"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "config.toml")
	loaded := func(text string) *Config {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	uncommented := loaded(string(raw))
	text, _, _ := strings.Cut(string(raw), "# Instead of an API key")
	_, rest, _ := strings.Cut(string(raw), "# When to read what")
	setting := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`)
	// These settings have no default, and would need access = "people".
	oidc := regexp.MustCompile(`(?m)^# (issuer|client_id|client_secret_file) = .*\n`)
	text = regexp.MustCompile(`(?m)^# (\[web\.[a-z.]+\])`).ReplaceAllString(oidc.ReplaceAllString(text, ""), "$1")
	explicit := loaded(setting.ReplaceAllString(text+"# When to read what"+rest, "$1"))
	for i := range explicit.Accounts {
		a := &explicit.Accounts[i]
		if len(a.WebhookSecrets)+len(a.RecordedBy)+len(a.Teams) == 0 {
			a.WebhookSecrets, a.RecordedBy, a.Teams = nil, nil, nil
		}
	}
	for _, list := range []*[]string{&explicit.Web.Hosts, &explicit.Receiver.TrustedProxies, &explicit.Web.TrustedProxies,
		&explicit.Web.ProxyNetworks, &explicit.Web.OIDC.AllowedDomains, &explicit.Notify.Mail.To} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if diff := cmp.Diff(uncommented, explicit); diff != "" {
		t.Errorf("a value shown is not the default:\n%s", diff)
	}
}
