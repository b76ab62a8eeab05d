package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minutebook/config"
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
	if unknown := cfg.UnknownVariables(m.Environ); len(unknown) > 0 {
		return path, &usageError{errors.New("check the environment: " + describeVariables(unknown))}
	}
	if err := checkUse(cfg); err != nil {
		return path, &usageError{err}
	}
	return path, nil
}

// describeVariables names variables that mean nothing.
func describeVariables(unknown []config.UnknownVariable) string {
	var texts []string
	for _, v := range unknown {
		text := v.Name + " is no setting"
		switch {
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
