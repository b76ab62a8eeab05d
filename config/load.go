package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/caarlos0/env/v11"

	"minutebook/internal/plaintoml"
)

// Load reads the file at path, applies the environment (KEY=value pairs, as from
// [os.Environ]), reads the secrets that are kept in files, and validates the
// result. With an empty path it takes the defaults and the environment. A dataDir
// that is not empty replaces data_dir. Paths in the file are relative to the
// file's folder, and those of the environment too. The accounts that were added on the page
// follow those of the file, and those that the environment adds are the last. On failure the
// error names the file and the setting, and the line and column of an unknown key.
func Load(path, dataDir string, environ []string) (*Config, error) {
	return LoadBeside("", path, dataDir, environ)
}

// LoadBeside is Load for a process that runs with the data directory running: that one has
// the accounts that were added on the page, also where the file names another directory, for
// the next start.
func LoadBeside(running, path, dataDir string, environ []string) (*Config, error) {
	raw, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	vars := env.ToMap(environ)
	if err := c.applyEnvironment(vars); err != nil {
		return nil, fmt.Errorf("read configuration from the environment: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("find the folder of the configuration: %w", err)
	}
	if dataDir != "" {
		if c.DataDir, err = filepath.Abs(dataDir); err != nil {
			return nil, fmt.Errorf("find the data directory: %w", err)
		}
	}
	if err := findFaults(c.refuseHomes); err != nil {
		return nil, fmt.Errorf("check configuration %s: %w", cmp.Or(path, "of the environment"), err)
	}
	c.DataDir = anchor(folder, c.DataDir)
	c.inFile = len(c.Accounts)
	if err := c.readAddedAccounts(cmp.Or(running, c.DataDir)); err != nil {
		return nil, err
	}
	if err := c.applyAccountVariables(vars); err != nil {
		return nil, fmt.Errorf("read configuration from the environment: %w", err)
	}
	credentials := vars["CREDENTIALS_DIRECTORY"]
	c.useCredentials(credentials)
	c.anchorPaths(folder)
	c.Web.PublicURL = canonicalURL(strings.TrimRight(c.Web.PublicURL, "/"))
	err = findFaults(func(bad complain) {
		c.readSecrets(credentials, bad)
		c.validate(bad)
	})
	if err != nil {
		return nil, fmt.Errorf("check configuration %s: %w", cmp.Or(path, "of the environment"), err)
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s (`minutebook setup -c %[1]s` writes one)", path)
	}
	return raw, err
}

func decode(raw []byte) (*Config, error) {
	c := Default()
	err := plaintoml.Decode(raw, &c)
	var mistakes plaintoml.Mistakes
	if errors.As(err, &mistakes) {
		return nil, describeMistakes(mistakes)
	}
	return &c, err
}

// refuseHomes refuses folders that are written as in a shell: they would be made, under that name.
func (c *Config) refuseHomes(bad complain) {
	for _, s := range [][2]string{{"data_dir", c.DataDir}, {"import.watch", c.Import.Watch}, {"backup.to", c.Backup.To}} {
		if path := s[1]; IsHome(path) {
			bad(s[0], "%q begins with ~, which only a shell replaces: write the whole path, or ./%[1]s for a folder of that name", path)
		}
	}
}

// IsHome reports whether a path begins with ~, as shells write the home directory of a person.
func IsHome(path string) bool { return path == "~" || strings.HasPrefix(path, "~/") }

// anchorPaths makes relative paths begin at the file's folder, so that the working
// directory of the daemon does not matter.
func (c *Config) anchorPaths(folder string) {
	for _, p := range append(c.secretFiles(), &c.Receiver.TLSCert, &c.Web.TLSCert, &c.Import.Watch, &c.Backup.To) {
		*p = anchor(folder, *p)
	}
}

// anchor returns a path that begins at a folder, if it is relative.
func anchor(folder, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(folder, path)
}

// SecretFiles returns the paths of the files with secrets that the settings name.
func (c *Config) SecretFiles() (paths []string) {
	for _, file := range c.secretFiles() {
		if *file != "" {
			paths = append(paths, *file)
		}
	}
	return paths
}

// secretFiles returns the settings that name files with secrets.
func (c *Config) secretFiles() []*string {
	files := []*string{&c.Receiver.TLSKey, &c.Web.TLSKey, &c.Web.OIDC.ClientSecretFile, &c.Web.Accounts.KeyFile,
		&c.Web.Accounts.OAuth.ClientSecretFile, &c.Backup.IdentityFile, &c.Notify.Mail.PasswordFile}
	for i := range c.Notify.Hooks {
		h := &c.Notify.Hooks[i]
		files = append(files, &h.URLFile, &h.SecretFile, &h.TokenFile)
	}
	for i := range c.Accounts {
		files = append(files, &c.Accounts[i].APIKeyFile)
		if o := c.Accounts[i].OAuth; o != nil {
			files = append(files, &o.ClientSecretFile)
		}
	}
	return files
}

// useCredentials has files with secrets, named without a folder, read from the directory
// of systemd's credentials (LoadCredential=) where they are there.
func (c *Config) useCredentials(dir string) {
	if dir == "" {
		return
	}
	for _, file := range c.secretFiles() {
		if *file == "" || filepath.Base(*file) != *file {
			continue
		}
		if path := filepath.Join(dir, *file); isFile(path) {
			*file = path
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// readSecrets reads the secrets that are kept in files.
func (c *Config) readSecrets(credentials string, bad complain) {
	c.Web.Accounts.readAccountKeys(credentials, bad)
	if o := &c.Web.OIDC; o.ClientSecret == "" { // the environment replaces the file
		readSecret("web.oidc.client_secret_file", o.ClientSecretFile, &o.ClientSecret, unread, bad)
	}
	c.readNotifySecrets(bad)
	for i := range c.Accounts {
		a := &c.Accounts[i]
		readSecret(fmt.Sprintf("accounts[%d].api_key_file (%s)", i, a.Name), a.APIKeyFile, &a.APIKey, unread, bad)
		if o := a.OAuth; o != nil {
			readSecret(fmt.Sprintf("accounts[%d].oauth.client_secret_file (%s)", i, a.Name), o.ClientSecretFile, &o.ClientSecret, unread, bad)
		}
	}
}

// unread takes the place of a secret that cannot be read, in a configuration that is refused.
const unread = "unread"

// readSecret reads the secret of a setting from a file, if it names one. A secret that cannot
// be read is substitute then, so that it is not missing as well.
func readSecret(setting, path string, secret *string, substitute string, bad complain) {
	if path == "" {
		return
	}
	raw, err := os.ReadFile(path)
	text := strings.TrimSpace(string(raw))
	switch {
	case err != nil:
		bad(setting, "%v", err)
	case *secret != "":
		bad(setting, "set both the value and its file; keep one")
		return
	case text == "":
		bad(setting, "read %s: the file is empty", path)
	default:
		*secret = text
		return
	}
	*secret = substitute
}
