package config

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// OwnAccounts lets people connect their own accounts at the service on the page.
type OwnAccounts struct {
	// KeyFile has the keys that encrypt the accounts' secrets: 64 hexadecimal digits on
	// a line, the present key first. Empty: the systemd credential [AccountsCredential],
	// and without it nobody connects an account.
	KeyFile string `toml:"key_file" env:"KEY_FILE"`
	Keys    string `toml:"-" env:"KEYS" secret:"true"`            // from the file, the credential or the environment
	BaseURL string `toml:"base_url" env:"BASE_URL" reload:"live"` // of the service; empty: that of the first of Accounts
	OAuth   OwnApp `toml:"oauth" envPrefix:"OAUTH_" reload:"live"`
}

// OwnApp is the OAuth app through which people connect their accounts. Its redirect
// address is web.public_url + /me/account/callback.
type OwnApp struct {
	ClientID         string `toml:"client_id" env:"CLIENT_ID"` // empty: only API keys are taken
	ClientSecretFile string `toml:"client_secret_file" env:"CLIENT_SECRET_FILE"`
	ClientSecret     string `toml:"-" env:"CLIENT_SECRET" secret:"true"` // from the file or the environment
	AuthorizeURL     string `toml:"authorize_url" env:"AUTHORIZE_URL"`   // default: base_url + /oauth2/authorize
	TokenURL         string `toml:"token_url" env:"TOKEN_URL"`           // default: base_url + /oauth2/token
}

// AccountsCredential is the name of the systemd credential with the keys of
// [OwnAccounts].
const AccountsCredential = "minutebook-accounts.key"

// ownAccountName matches the names of accounts that people have connected.
var ownAccountName = regexp.MustCompile(`^person-[0-9]+$`)

// ServiceURL returns the address of the archive's service, "" where no account names it.
func (c *Config) ServiceURL() string {
	if len(c.Accounts) > 0 {
		return c.Accounts[0].BaseURL
	}
	return c.Web.Accounts.BaseURL
}

// readAccountKeys reads the keys of web.accounts and the app's secret. credentials is
// the directory of systemd's credentials, which may be "".
func (o *OwnAccounts) readAccountKeys(credentials string, bad complain) {
	if o.OAuth.ClientSecret == "" {
		readSecret("web.accounts.oauth.client_secret_file", o.OAuth.ClientSecretFile, &o.OAuth.ClientSecret, unread, bad)
	}
	switch {
	case o.Keys != "": // the environment replaces the file
	case o.KeyFile != "" || credentials == "":
		readSecret("web.accounts.key_file", o.KeyFile, &o.Keys, unread, bad)
	default:
		raw, err := os.ReadFile(filepath.Join(credentials, AccountsCredential))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			bad("web.accounts.key_file", "read the credential %s: %v", AccountsCredential, err)
		}
		o.Keys = strings.TrimSpace(string(raw))
	}
}

// validateOwnAccounts checks web.accounts.
func (c *Config) validateOwnAccounts(bad complain) {
	o := c.Web.Accounts
	if o.OAuth != (OwnApp{}) && (o.OAuth.ClientID == "" || o.OAuth.ClientSecret == "") {
		bad("web.accounts.oauth", "needs client_id, and client_secret_file or %sWEB_ACCOUNTS_OAUTH_CLIENT_SECRET", envPrefix)
	}
	if (o.KeyFile != "" || o.OAuth.ClientID != "" || o.BaseURL != "") && c.Web.Access == AccessOwner {
		bad("web.accounts", "is for people who sign in, and access = \"owner\" asks nobody who they are; add the account under [[accounts]]")
	}
	if o.OAuth.ClientID != "" && o.Keys == "" {
		bad("web.accounts.key_file", "is missing, and web.accounts.oauth needs it: make a key with `openssl rand -hex 32 > accounts.key`")
	}
	if o.OAuth.ClientID != "" && !strings.HasPrefix(c.Web.PublicURL, "https://") {
		bad("web.accounts.oauth", "needs an https address as web.public_url: the service sends people back to no other")
	}
	if o.BaseURL == "" {
		return
	}
	if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		bad("web.accounts.base_url", "is no http or https address; it includes /external/v1")
	}
	if len(c.Accounts) > 0 && c.Accounts[0].BaseURL != o.BaseURL {
		bad("web.accounts.base_url", "differs from the first account's: one archive holds one service")
	}
}
