package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	if diff := cmp.Diff(uncommented, explicit, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("a value shown is not the default:\n%s", diff)
	}
}

// TestExampleHasEverySetting looks for the line of each setting in its table, in force or
// commented out, and for lines of others.
func TestExampleHasEverySetting(t *testing.T) {
	raw, err := os.ReadFile("../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	shown, table := map[string]bool{}, ""
	line := regexp.MustCompile(`^(?:# *)?(?:\[\[?([a-z_.]+)\]\]?|([a-z_]+) = )`)
	for text := range strings.Lines(string(raw)) {
		switch found := line.FindStringSubmatch(text); {
		case found == nil:
		case found[1] != "":
			table = found[1] + "."
		default:
			shown[table+found[2]] = true
		}
	}
	var walk func(typ reflect.Type, table string)
	walk = func(typ reflect.Type, table string) {
		for i := range typ.NumField() {
			name, inner := typ.Field(i).Tag.Get("toml"), typ.Field(i).Type
			if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case isTable(inner):
				walk(inner, table+name+".")
			case name != "-" && !shown[table+name]:
				t.Errorf("config.example.toml has no %s", table+name)
			}
			delete(shown, table+name)
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if len(shown) > 0 {
		t.Errorf("config.example.toml has what is no setting: %v", shown)
	}
}
