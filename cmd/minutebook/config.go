package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"minutebook/config"
	"minutebook/internal/durable"
	"minutebook/internal/phrase"
)

func (m *Main) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show the configuration",
	}
	cmd.AddCommand(m.configCheckCmd(), m.configShowCmd())
	return cmd
}

// checkedConfiguration is the form of `config check --json`.
type checkedConfiguration struct {
	Path    string `json:"path,omitempty"`    // the file; absent where the environment alone is read
	Mistake string `json:"mistake,omitempty"` // absent where all is well
}

func (m *Main) configCheckCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with the configuration, and where",
		Long: `Reads the configuration as serve does, with its secrets and the environment, and
opens nothing. Every mistake is named with its place. Variables that begin with
MINUTEBOOK_ and mean nothing are mistakes here; serve only warns of them.

Exit codes: 0 all is well, 2 a mistake.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			path, err := m.checkConfiguration()
			if m.json {
				c := checkedConfiguration{Path: path}
				if err != nil {
					c.Mistake = phrase.Error(err)
				}
				return errors.Join(printJSON(m.Stdout, c), err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(m.Stdout, "%s is in order\n", cmp.Or(path, "the configuration by the environment alone"))
			return err
		},
	})
}

// checkConfiguration returns the file of the configuration, and the mistake in it or in the
// environment.
func (m *Main) checkConfiguration() (path string, err error) {
	if path, err = m.configFile(); err != nil {
		return "", err
	}
	cfg, err := m.loadConfig()
	if err != nil {
		return path, err
	}
	if err = checkUse(cfg); err != nil {
		err = &usageError{err}
	}
	if unknown := cfg.UnknownVariables(m.Environ); len(unknown) > 0 {
		err = errors.Join(&usageError{errors.New("check the environment: " + describeVariables(unknown))}, err)
	}
	return path, err
}

// describeVariables names variables that mean nothing.
func describeVariables(unknown []config.UnknownVariable) string {
	var texts []string
	for _, v := range unknown {
		text := v.Name + " is no setting"
		switch {
		case v.IsEmpty():
			text = v.Name + " is empty, so that it adds no account"
		case v.LacksAccount:
			text = v.Name + " is a setting of no account, which " + v.Nearest + " would add"
		case v.Nearest != "":
			text += " (did you mean " + v.Nearest + "?)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func (m *Main) configShowCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "show",
		Short: "Show every setting, and where its value comes from",
		Long: `Shows the configuration as a command would use it: each value, and behind it the
line of the file, the variable, accounts.toml (an account that was added on the page)
or "default". Secrets are masked. A daemon may run with
an older one, which ` + "`minutebook status`" + ` says.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			path, err := m.configFile()
			if err != nil {
				return err
			}
			settings, err := config.Describe(path, m.dataDir, m.Environ)
			if err != nil {
				return &usageError{err}
			}
			if m.json {
				return printJSON(m.Stdout, settings)
			}
			w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
			for _, s := range settings {
				fmt.Fprintf(w, "%s = %s\t# %s\n", s.Key, s.Value, s.Source)
			}
			return w.Flush()
		},
	})
}

// writeSetup writes the configuration, and a key that no file keeps beside it. It returns
// the paths of the files that it wrote, after a failure too.
func (m *Main) writeSetup(path string, a setupAnswers) (written []string, err error) {
	key := a.keyFile
	if key == "" {
		if key, err = writeKey(filepath.Dir(path), a); err != nil {
			return nil, err
		}
		written = append(written, filepath.Join(filepath.Dir(path), key))
	}
	var b strings.Builder
	set := func(key string, value any) {
		raw, err := toml.Marshal(map[string]any{key: value})
		if err != nil { // a text can always be written, and so can texts
			raw = fmt.Appendf(nil, "%s = %q\n", key, value)
		}
		b.Write(raw)
	}
	line := func(key, value string) {
		if value != "" {
			set(key, value)
		}
	}
	b.WriteString("# Minutebook's configuration. `minutebook config show` lists every setting with its\n# value; `minutebook config check` finds mistakes.\n\n# The archive.\n")
	line("data_dir", a.data)
	b.WriteString("\n# The page.\n[web]\n")
	page := a.page()
	line("listen", page.Listen)
	switch page.Access {
	case config.AccessPeople:
		b.WriteString("# Everybody signs in; the first person: minutebook user add EMAIL --admin\n" +
			"# At an OpenID Connect provider with a table [web.oidc], which docs/access.md describes.\n")
	case config.AccessProxy:
		b.WriteString("# The proxy signs everybody in, and removes this header from what browsers send: docs/access.md.\n" +
			"# The first person: minutebook user add EMAIL --admin\n")
	}
	if page.Access != config.AccessOwner || page.PublicURL != "" {
		line("access", page.Access)
		line("public_url", page.PublicURL)
	}
	if page.Access == config.AccessProxy {
		line("proxy_header", page.ProxyHeader)
		set("proxy_networks", page.ProxyNetworks)
	}
	if a.receiverURL != "" {
		b.WriteString("\n# New meetings come in here, once `minutebook webhook create` has asked for them.\n[receiver]\n")
		line("listen", a.receiverListen)
		line("public_url", a.receiverURL)
	}
	b.WriteString("\n# Whose meetings are kept; one such table for each person.\n[[accounts]]\n")
	line("name", a.account)
	line("base_url", a.baseURL)
	line("email", a.email)
	line("api_key_file", key)
	if err := durable.Create(path, []byte(b.String())); err != nil {
		return written, fmt.Errorf("set up: write the configuration: %w", err)
	}
	written = append(written, path)
	return written, m.giveToService(path, slices.Concat(written, []string{a.keyFile}))
}

// writeKey writes the key to a file beside the configuration and returns the file's name.
func writeKey(dir string, a setupAnswers) (string, error) {
	if a.account != filepath.Base(a.account) {
		return "", &usageError{fmt.Errorf("set up: --account: %q: use small letters, digits, - and _", a.account)}
	}
	name := a.account + ".key"
	path := filepath.Join(dir, name)
	if err := checkAbsent(path); err != nil {
		return "", fmt.Errorf("set up: %w", err)
	}
	if err := durable.Create(path, []byte(a.key+"\n")); err != nil {
		return "", fmt.Errorf("set up: write the key: %w", err)
	}
	return name, nil
}

// checkAbsent fails where the file for a key is there.
func checkAbsent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; move it, name it with --api-key-file, or give the account another name", path)
	}
	return nil
}

// giveToService lets the user of the installed service read files that root has written for
// its configuration, as the group of its archive's owner. Without such a user the service is
// root's.
func (m *Main) giveToService(config string, files []string) error {
	if !m.isInstalled(config) || os.Geteuid() != 0 {
		return nil
	}
	group := 0
	if u, err := user.Lookup(installedUser); err == nil {
		group, _ = strconv.Atoi(u.Gid) // a number on Unix
	}
	if info, err := os.Stat(m.joinRoot(installedData)); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			group = int(st.Gid)
		}
	}
	if group == 0 {
		return nil
	}
	for _, path := range files {
		if path == "" {
			continue
		}
		if err := errors.Join(os.Chown(path, -1, group), os.Chmod(path, 0o640)); err != nil {
			return fmt.Errorf("set up: let the service read its files: %w", err)
		}
	}
	return nil
}
