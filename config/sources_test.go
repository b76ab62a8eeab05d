package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDescribeNamesSources reads settings from each place.
func TestDescribeNamesSources(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "bob.key"), "key-of-bob")
	write(path, `data_dir = "/d"
log = { level = "warn" }
[receiver]
keep_bodies = "90m"
[[accounts]]
name = "ada"
base_url = "https://api.example/external/v1"
api_key = "key-of-ada"
[[accounts]]
name = "bob"
base_url = "https://api.example/external/v1"
api_key_file = "bob.key"
[[accounts]]
name = "cy"
base_url = "https://api.example/external/v1"
[accounts.oauth]
client_id = "c"
redirect_url = "https://x.example/"
[[retention.rules]]
media_after_days = 9
[media]
url = "file://user:sesame@/x"
`)
	settings, err := Describe(path, "/elsewhere", []string{"MINUTEBOOK_WEB_TIME_ZONE=UTC", "MINUTEBOOK_ACCOUNT_CY_OAUTH_CLIENT_SECRET=secret of cy"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range settings {
		got[s.Key] = s.Value + " # " + s.Source
		if regexp.MustCompile(`key of|secret of|sesame`).MatchString(s.Value) {
			t.Errorf("%s shows a secret: %s", s.Key, s.Value)
		}
	}
	for key, want := range map[string]string{
		"data_dir":                            `'/elsewhere' # --data`,
		"log.level":                           `'warn' # config.toml:2`,
		"log.format":                          `'auto' # default`,
		"web.listen":                          `'127.0.0.1:8377' # default`,
		"web.time_zone":                       `'UTC' # MINUTEBOOK_WEB_TIME_ZONE`,
		"receiver.keep_bodies":                `'1h30m' # config.toml:4`,
		"audit.keep":                          `'8760h' # default`,
		"accounts[0].api_key":                 Masked + ` # config.toml:8`,
		"accounts[1].api_key":                 Masked + ` # its file`,
		"accounts[2].oauth.client_id":         `'c' # config.toml:17`,
		"accounts[2].oauth.client_secret":     Masked + ` # MINUTEBOOK_ACCOUNT_CY_OAUTH_CLIENT_SECRET`,
		"retention.rules[0].media_after_days": `9 # config.toml:20`,
	} {
		if got[key] != strings.ReplaceAll(want, "'", `"`) && got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
}

// TestDescribeFindsLinesInBraces reads settings that stand in braces, over several lines.
func TestDescribeFindsLinesInBraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(`data_dir = "/d"
# people
accounts = [
  {name = "ada", base_url = "https://api.example/external/v1", api_key = "sesame"},
  # another
  {name = "ben", base_url = "https://api.example/external/v1", oauth = {client_id = "c", client_secret = "sesame", redirect_url = "https://x.example/"},
   recorded_by = ["kim@x.example"]},
]
notify = {digest = "daily", mail = {host = "h", from = "a@x.example", to = [
  "a@x.example"]}, hooks = [{name = "x", format = "slack", url = "https://x.example/sesame"},
  {name = "y", format = "slack", url = "https://x.example/sesame"}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := Describe(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range settings {
		got[s.Key] = s.Source
	}
	for key, want := range map[string]string{
		"accounts[0].name": "config.toml:4", "accounts[0].api_key": "config.toml:4", "accounts[0].email": "default",
		"accounts[1].oauth.client_id": "config.toml:6", "accounts[1].oauth.token_url": "default", "accounts[1].recorded_by": "config.toml:7",
		"notify.digest": "config.toml:9", "notify.digest_at": "default", "notify.mail.to": "config.toml:9", "notify.mail.port": "default",
		"notify.hooks[0].url": "config.toml:10", "notify.hooks[1].url": "config.toml:11", "notify.hooks[1].token": "default",
	} {
		if got[key] != want {
			t.Errorf("%s is of %q, want %q", key, got[key], want)
		}
	}
}

// TestSecretsAreMarked looks for settings whose names say that they are secret.
func TestSecretsAreMarked(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			inner := f.Type
			if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if isTable(inner) {
				walk(inner)
			}
			if regexp.MustCompile(`(^|_)(secrets?|keys?|password|token)$`).MatchString(settingName(f)) && settingName(f) != "tls_key" && f.Tag.Get("secret") != "true" {
				t.Errorf("%s.%s has no tag secret", typ.Name(), f.Name)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestUnknownVariables(t *testing.T) {
	c := Config{Accounts: []Account{{Name: "ada"}}}
	got := c.UnknownVariables([]string{"MINUTEBOOK_WEB_LISTN=x", "MINUTEBOOK_WEB_LISTEN=x", "MINUTEBOOK_CONFIG=x", "MINUTEBOOK_ACCOUNT_ADA_API_KEY=x",
		"MINUTEBOOK_PORT_8377_TCP_PROTO=tcp", "MINUTEBOOK_ACCOUNT_ADA_API_KY=x", "HOME=x", "MINUTEBOOK_WEB_OIDC_CLIENT_SECRET=x"})
	want := []UnknownVariable{{Name: "MINUTEBOOK_ACCOUNT_ADA_API_KY", Nearest: "MINUTEBOOK_ACCOUNT_ADA_API_KEY"}, {Name: "MINUTEBOOK_PORT_8377_TCP_PROTO"}, {Name: "MINUTEBOOK_WEB_LISTN", Nearest: "MINUTEBOOK_WEB_LISTEN"}}
	if len(got) == 3 {
		got[1].Nearest = "" // so far away, any is as good
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestNearestKey(t *testing.T) {
	for key, want := range map[string]string{"web.lisen": "web.listen", "level": "log.level", "accounts.apikey": "accounts.api_key", "retention.rules.media_after": "retention.rules.media_after_days", "zzz": ""} {
		if got := nearestKey(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

// TestDescribeNamesAddedAccounts has an account in the file, one that was added on the page,
// and, without the key in the file, one whose key is in the environment.
func TestDescribeNamesAddedAccounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	if err := AddAccount(dir, Account{Name: "main", BaseURL: "http://127.0.0.1:1/external/v1", APIKey: "key-of-main"}); err != nil {
		t.Fatal(err)
	}
	for key, isInFile := range map[string]bool{"": false, "api_key = \"key-of-ada\"\n": true} {
		text := "[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\n" + key
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		environ := []string{"MINUTEBOOK_ACCOUNT_ADA_API_KEY=key-of-ada"}
		if isInFile {
			environ = nil
		}
		settings, err := Describe(path, dir, environ)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range settings {
			want, ok := map[string]string{"accounts[1].name": AddedName, "accounts[1].api_key": AddedName, "accounts[1].allow_private": AddedName, "accounts[1].email": "default"}[s.Key]
			if ok && s.Source != want {
				t.Errorf("%s comes from %s, want %s", s.Key, s.Source, want)
			}
		}
		settings, err = Describe(path, dir, append(environ, "MINUTEBOOK_ACCOUNT_MAIN_API_KEY=other"))
		if err != nil || !slices.Contains(settings, Setting{"accounts[1].api_key", Masked, "MINUTEBOOK_ACCOUNT_MAIN_API_KEY"}) {
			t.Errorf("the variable of an added account is not in force: %+v, %v", settings, err)
		}
		if got := HasSecret(settings, path); got != isInFile {
			t.Errorf("with %q the file has a secret: %t", key, got)
		}
	}
}
