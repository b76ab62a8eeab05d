package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const serviceURL = "https://api.example/external/v1"

// TestTheEnvironmentAddsAccounts has no file, an account with its key in a variable, one with
// its key in a file, and one of an app.
func TestTheEnvironmentAddsAccounts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bob.key"), []byte("key-of-bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"MINUTEBOOK_ACCOUNT_CY_2_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_CY_2_OAUTH_CLIENT_ID=c", "MINUTEBOOK_ACCOUNT_CY_2_OAUTH_CLIENT_SECRET=secret-of-cy",
		"MINUTEBOOK_ACCOUNT_CY_2_OAUTH_REDIRECT_URL=https://x.example/",
		"MINUTEBOOK_ACCOUNT_BOB_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_BOB_API_KEY_FILE=bob.key", "MINUTEBOOK_ACCOUNT_BOB_ALLOW_PRIVATE=true",
		"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_ADA_API_KEY=key-of-ada", "MINUTEBOOK_ACCOUNT_ADA_EMAIL=ada@company.example",
		"MINUTEBOOK_ACCOUNT_ADA_TEAMS=Board,Sales", "MINUTEBOOK_ACCOUNT_ADA_RECORDED_BY=kim@x.example", "CREDENTIALS_DIRECTORY=" + dir,
	}
	c, err := Load("", dir, environ)
	if err != nil || len(c.Accounts) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	a, b, cy := c.Accounts[0], c.Accounts[1], c.Accounts[2]
	if a.Name != "ada" || a.BaseURL != serviceURL || a.APIKey != "key-of-ada" || a.Email != "ada@company.example" || !slices.Equal(a.Teams, []string{"Board", "Sales"}) || len(a.RecordedBy) != 1 {
		t.Errorf("ada is %+v", a)
	}
	if b.Name != "bob" || b.APIKey != "key-of-bob" || !b.AllowPrivate {
		t.Errorf("bob is %+v", b)
	}
	if cy.Name != "cy_2" || cy.OAuth == nil || cy.OAuth.ClientSecret != "secret-of-cy" || cy.OAuth.RedirectURL != "https://x.example/" {
		t.Errorf("cy is %+v", cy)
	}
	if unknown := c.UnknownVariables(environ); len(unknown) > 0 {
		t.Errorf("%+v", unknown)
	}
	settings, err := Describe("", dir, environ)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"accounts[0].name": "MINUTEBOOK_ACCOUNT_ADA_BASE_URL", "accounts[0].email": "MINUTEBOOK_ACCOUNT_ADA_EMAIL", "accounts[0].api_key": "MINUTEBOOK_ACCOUNT_ADA_API_KEY",
		"accounts[0].webhook_secrets": "default", "accounts[1].api_key": "its file", "accounts[1].api_key_file": "MINUTEBOOK_ACCOUNT_BOB_API_KEY_FILE",
		"accounts[1].allow_private": "MINUTEBOOK_ACCOUNT_BOB_ALLOW_PRIVATE", "accounts[2].oauth.client_secret": "MINUTEBOOK_ACCOUNT_CY_2_OAUTH_CLIENT_SECRET", "accounts[2].oauth.token_url": "default",
	} {
		if i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key }); i < 0 || settings[i].Source != want {
			t.Errorf("%s does not come from %s: %+v", key, want, settings)
		}
	}
}

// TestForeignVariablesAddNothing sets variables as clusters do for services that are named as
// the program or begin so, and others that nearly add an account.
func TestForeignVariablesAddNothing(t *testing.T) {
	environ := []string{
		"MINUTEBOOK_ACCOUNT_PORT=tcp://10.0.0.1:80", "MINUTEBOOK_ACCOUNT_ADA_PORT=tcp://10.0.0.1:80", "MINUTEBOOK_ACCOUNT_ADA_PORT_80_TCP_ADDR=10.0.0.1",
		"MINUTEBOOK_ACCOUNT_ADA_SERVICE_HOST=10.0.0.1", "MINUTEBOOK_0_SERVICE_HOST=10.0.0.1", "MINUTEBOOK_NOTIFY_0_SERVICE_HOST=10.0.0.1",
		"MINUTEBOOK_ACCOUNT_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_ada_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_A-B_BASE_URL=" + serviceURL,
		"MINUTEBOOK_ACCOUNT_ADA_EMAIL=ada@company.example",
	}
	c, err := Load("", t.TempDir(), append(environ, "MINUTEBOOK_ACCOUNT_ADA_BASE_URL="))
	if err != nil || len(c.Accounts)+len(c.Retention.Rules)+len(c.Notify.Hooks) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if empty := c.UnknownVariables([]string{"MINUTEBOOK_ACCOUNT_ADA_BASE_URL="}); len(empty) != 1 || !empty[0].IsEmpty() {
		t.Errorf("an empty address: %+v", empty)
	}
	unknown := c.UnknownVariables(environ)
	if len(unknown) != len(environ) {
		t.Errorf("%+v", unknown)
	}
	if !slices.Contains(unknown, UnknownVariable{"MINUTEBOOK_ACCOUNT_ADA_EMAIL", "MINUTEBOOK_ACCOUNT_ADA_BASE_URL", true}) {
		t.Errorf("nothing says which variable adds the account: %+v", unknown)
	}
}

// TestVariablesReplaceSettingsOfAccounts has an account in the file, with a hyphen, and one that
// was added on the page.
func TestVariablesReplaceSettingsOfAccounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	const text = "data_dir = \"data\"\n[[accounts]]\nname = \"ada-b\"\nbase_url = \"https://old.example/external/v1\"\nemail = \"old@company.example\"\nteams = [\"Board\"]\napi_key = \"old\"\n"
	data := filepath.Join(dir, "data")
	for _, err := range []error{os.WriteFile(path, []byte(text), 0o600), os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(dir, "new.key"), []byte("new"), 0o600),
		AddAccount(data, Account{Name: "main", BaseURL: "https://old.example/external/v1", APIKey: "old"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"MINUTEBOOK_ACCOUNT_ADA_B_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_ADA_B_EMAIL=ada@company.example", "MINUTEBOOK_ACCOUNT_ADA_B_API_KEY_FILE=new.key",
		"MINUTEBOOK_ACCOUNT_MAIN_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_EVE_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_EVE_API_KEY=k"}
	c, err := Load(path, "", environ)
	if err != nil || len(c.Accounts) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	a := c.Accounts[0]
	if a.Name != "ada-b" || a.BaseURL != serviceURL || a.Email != "ada@company.example" || a.APIKey != "new" || len(a.Teams) != 1 {
		t.Errorf("the file's account is %+v", a)
	}
	if b := c.Accounts[1]; b.Name != "main" || b.BaseURL != serviceURL || b.APIKey != "old" || c.Accounts[2].Name != "eve" {
		t.Errorf("the others are %+v", c.Accounts[1:])
	}
	settings, err := Describe(path, "", environ)
	for _, want := range []Setting{{"accounts[0].name", `'ada-b'`, "config.toml:3"}, {"accounts[0].teams", `['Board']`, "config.toml:6"}, {"accounts[0].api_key", Masked, "its file"},
		{"accounts[1].name", `'main'`, AddedName}, {"accounts[1].api_key", Masked, AddedName}, {"accounts[1].base_url", "'" + serviceURL + "'", "MINUTEBOOK_ACCOUNT_MAIN_BASE_URL"},
		{"accounts[2].name", `'eve'`, "MINUTEBOOK_ACCOUNT_EVE_BASE_URL"}} {
		if !slices.Contains(settings, want) {
			t.Errorf("%+v is not shown: %+v, %v", want, settings, err)
		}
	}
	// Without their variables the account of the environment is gone, and the others are as they were.
	if c, err = Load(path, "", nil); err != nil || len(c.Accounts) != 2 || c.Accounts[0].APIKey != "old" || c.Accounts[1].BaseURL != "https://old.example/external/v1" {
		t.Errorf("without variables: %+v, %v", c, err)
	}
}

// TestAccountsOfTheEnvironmentAreChecked has a mistake in each account.
func TestAccountsOfTheEnvironmentAreChecked(t *testing.T) {
	key := "MINUTEBOOK_ACCOUNT_ADA_API_KEY=k"
	for want, environ := range map[string][]string{
		"check configuration of the environment: accounts[0].api_key: is missing (account \"ada\")": {"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=" + serviceURL},
		"accounts[0].base_url: is no http or https address":                                         {"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=api.example", key},
		"accounts[0].name: \"local\" is the program's own":                                          {"MINUTEBOOK_ACCOUNT_LOCAL_BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT_LOCAL_API_KEY=k"},
		"accounts[0].name: \"_\": use small letters":                                                {"MINUTEBOOK_ACCOUNT___BASE_URL=" + serviceURL, "MINUTEBOOK_ACCOUNT___API_KEY=k"},
		"accounts[1].base_url: differs from the first account's":                                    {"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=" + serviceURL, key, "MINUTEBOOK_ACCOUNT_BOB_BASE_URL=https://other.example", "MINUTEBOOK_ACCOUNT_BOB_API_KEY=k"},
		"MINUTEBOOK_ACCOUNT_ADA_ALLOW_PRIVATE: takes true or false":                                 {"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=" + serviceURL, key, "MINUTEBOOK_ACCOUNT_ADA_ALLOW_PRIVATE=perhaps"},
		"accounts[0].api_key: and accounts[0].oauth are both set; keep one":                         {"MINUTEBOOK_ACCOUNT_ADA_BASE_URL=" + serviceURL, key, "MINUTEBOOK_ACCOUNT_ADA_OAUTH_CLIENT_ID=c"},
	} {
		if _, err := Load("", t.TempDir(), environ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", environ, err)
		}
	}
}
