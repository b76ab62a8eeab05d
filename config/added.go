package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"minutebook/internal/durable"
)

// AddedName is the file in the data directory with the accounts that were added on the
// page. Nobody but the owner of the directory can read it, and no backup has it, as
// with the configuration itself.
const AddedName = "accounts.toml"

// addedAccount is an account in the file.
type addedAccount struct {
	Name    string `toml:"name"`
	BaseURL string `toml:"base_url"`
	Email   string `toml:"email,omitempty"` // of the account's owner
	APIKey  string `toml:"api_key"`
	// AllowPrivate is set for a service in one's own network.
	AllowPrivate bool `toml:"allow_private,omitempty"`
}

// addedFile is the content of the file.
type addedFile struct {
	Accounts []addedAccount `toml:"accounts"`
}

// readAddedAccounts appends the accounts that were added on the page to those of a data
// directory.
func (c *Config) readAddedAccounts(dir string) error {
	if dir == "" {
		return nil
	}
	f, err := readAdded(dir)
	if err != nil {
		return err
	}
	for _, a := range f.Accounts {
		c.Accounts = append(c.Accounts, Account{Name: a.Name, BaseURL: a.BaseURL, Email: a.Email, APIKey: a.APIKey, AllowPrivate: a.AllowPrivate})
	}
	return nil
}

// readAdded reads the file. Its errors quote nothing of it, since it has keys.
func readAdded(dir string) (f addedFile, err error) {
	path := filepath.Join(dir, AddedName)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read the accounts that were added on the page: %w", durable.ExplainAccess(dir, err))
	}
	if err := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields().Decode(&f); err != nil {
		return f, fmt.Errorf("read %s: it is no list of [[accounts]] with name, base_url, email and api_key; mend it, or delete it and add the account again", path)
	}
	return f, nil
}

// AddAccount keeps the name, address, owner and API key of an account in the data directory.
// It is one of the configuration from the next [Load] on. Recordings of a service whose
// address is a private one may come from such addresses too. It fails when one of the name
// was added before.
func AddAccount(dir string, account Account) error {
	f, err := readAdded(dir)
	if err != nil {
		return err
	}
	for _, a := range f.Accounts {
		if a.Name == account.Name {
			return fmt.Errorf("add account %s: it was added before", a.Name)
		}
	}
	f.Accounts = append(f.Accounts, addedAccount{account.Name, account.BaseURL, account.Email, account.APIKey, isPrivate(account.BaseURL)})
	return f.write(dir)
}

// isPrivate reports whether an address names this machine or one in its own network.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && (at.IsLoopback() || at.IsPrivate())
}

// RemoveAccount takes an account back that [AddAccount] has kept.
func RemoveAccount(dir, name string) error {
	f, err := readAdded(dir)
	if err != nil {
		return err
	}
	var rest addedFile
	for _, a := range f.Accounts {
		if a.Name != name {
			rest.Accounts = append(rest.Accounts, a)
		}
	}
	if len(rest.Accounts) == 0 {
		return durable.Remove(filepath.Join(dir, AddedName))
	}
	return rest.write(dir)
}

func (f addedFile) write(dir string) error {
	raw, err := toml.Marshal(f)
	if err != nil {
		return errors.New("encode the accounts that were added on the page") // the cause may quote a key
	}
	raw = append([]byte("# Accounts that were added on the page. Move them to the configuration if you like.\n"), raw...)
	if err := durable.WriteFile(filepath.Join(dir, AddedName), raw); err != nil {
		return fmt.Errorf("keep the account: %w", err)
	}
	return nil
}
