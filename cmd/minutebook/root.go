package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/nearest"
	"minutebook/internal/phrase"
)

// Main is the program: its streams, its environment and the options that
// stand before or after every command. Tests run it in their own process.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	Version        string

	configPath string // -c
	dataDir    string // --data
	json       bool   // --json
	reloading  bool   // the command is reload
	root       string // below which the packages' files lie; "": /

	daemonTime time.Duration // how long doctor waits for the daemon; 0: examinationTime
}

// untilStopped are the commands that run until they are stopped. Any other one that is
// stopped has not done its work.
var untilStopped = []string{"minutebook serve", "minutebook service", "minutebook demo", "minutebook mcp"}

// Run executes one command line and returns the exit code: 0 on success, the
// operation's own code where it has one, 2 for a command line or a
// configuration that makes no sense, 6 and 10 for databases of a later version
// and damaged ones, 1 otherwise.
func (m *Main) Run(ctx context.Context, args []string) int {
	out := &output{Writer: m.Stdout}
	m.Stdout = out
	defer func() { m.Stdout = out.Writer }()
	root := m.rootCmd()
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	if err == nil {
		return 0
	}
	err = asUsage(err)
	var usage *usageError
	var failed *control.Error
	ended := errors.Is(err, context.Canceled) || errors.As(err, &failed) && failed.Kind == control.KindCanceled
	switch {
	case ended && ctx.Err() != nil && slices.Contains(untilStopped, ran.CommandPath()):
		return 0 // Ctrl-C is how one ends it
	case errors.As(err, &usage):
		fmt.Fprintln(m.Stderr, "minutebook: "+phrase.Error(err))
		return 2
	case ended && ctx.Err() != nil:
		fmt.Fprintln(m.Stderr, "minutebook: interrupted")
		return 1
	case errors.As(err, &failed) && failed.ExitCode != 0:
		fmt.Fprintln(m.Stderr, "minutebook: "+phrase.Error(err))
		return failed.ExitCode
	}
	fmt.Fprintln(m.Stderr, "minutebook: "+phrase.Error(err))
	return cmp.Or(control.ExitCode(err), 1)
}

// usageError is a mistake in the command line or the configuration: exit code 2.
type usageError struct{ err error }

// Error returns the message.
func (e *usageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *usageError) Unwrap() error { return e.err }

func (m *Main) rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "minutebook",
		Version:       m.Version,
		Short:         "Your recorded meetings, on your own disk, searchable to the second",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if path := f.Value.String(); config.IsHome(path) { // as of --data=~/minutes
					err = &usageError{fmt.Errorf("--%s: %q begins with ~, which the shell did not replace: write the whole path", f.Name, path)}
				}
			})
			return err
		},
	}
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.SetFlagErrorFunc(explainFlagError)
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate(m.describeVersion())
	root.SetHelpTemplate(root.HelpTemplate() + "{{if not .HasParent}}\nExit codes:\n" + formatExitCodes("  %-8s  %s\n") + "{{end}}")
	root.PersistentFlags().StringVarP(&m.configPath, "config", "c", "", "configuration `file` (default: MINUTEBOOK_CONFIG, then config.toml here)")
	root.PersistentFlags().StringVar(&m.dataDir, "data", "", "data `directory`, instead of the configuration's data_dir")
	root.AddCommand(
		m.serveCmd(), m.demoCmd(), m.serviceCmd(), m.initCmd(), m.syncCmd(),
		m.searchCmd(), m.showCmd(), m.historyCmd(), m.statusCmd(), m.statsCmd(),
		m.verifyCmd(), m.rebuildCmd(), m.forgetCmd(), m.authCmd(), m.webhookCmd(), m.mcpCmd(), m.healthcheckCmd(), m.versionCmd(),
	)
	root.AddCommand(m.userCmd(), m.tokenCmd(), m.auditCmd(), m.reloadCmd(), m.configCmd(), m.doctorCmd(), m.setupCmd(), m.docsCmd())
	root.AddCommand(m.exportCmd(), m.importCmd(), m.backupCmd(), m.restoreCmd(), m.adoptCmd(), m.retentionCmd())
	m.completeShells(root)
	root.InitDefaultHelpCmd()
	refuseUnknownCommands(root)
	m.finishCommand(root)
	m.completeFlags(root)
	return root
}

// refuseUnknownCommands makes a command group fail for an unknown subcommand: cobra
// alone would print the help and succeed, and a script would go on.
func refuseUnknownCommands(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseUnknownCommands(sub)
	}
	if cmd.Name() == "help" && !cmd.Parent().HasParent() {
		cmd.Run, cmd.RunE = nil, helpOn
	}
	if cmd.Runnable() || !cmd.HasSubCommands() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

// helpOn shows the help of the command that args name.
func helpOn(cmd *cobra.Command, args []string) error {
	on, rest, err := cmd.Root().Find(args)
	if err != nil {
		return unknownCommand(cmd.Root(), args[0])
	}
	if len(rest) > 0 {
		return unknownCommand(on, rest[0])
	}
	on.InitDefaultHelpFlag()
	return on.Help()
}

// unknownCommand says that a group has no command of a name, and which may be meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	suggestion := ""
	if near := nearestCommands(cmd, word); len(near) > 0 {
		suggestion = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return &usageError{fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), word, suggestion)}
}

// nearestCommands returns the commands below a group that a wrong word may mean.
func nearestCommands(cmd *cobra.Command, word string) []string {
	if names := cmd.SuggestionsFor(word); len(names) > 0 {
		return names
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := nearest.Word(word, names); near != "" {
		return []string{near}
	}
	return nil
}

// jsonFlag adds --json to a command.
func (m *Main) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&m.json, "json", false, "print JSON")
	return cmd
}

// loadConfig loads the configuration. With --data alone no file is needed: the
// defaults and the environment serve.
func (m *Main) loadConfig() (*config.Config, error) { return m.loadConfigBeside("") }

// loadConfigBeside is loadConfig for a process with a data directory, or for none.
func (m *Main) loadConfigBeside(running string) (*config.Config, error) {
	path, err := m.configFile()
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadBeside(running, path, m.dataDir, m.Environ)
	if err != nil && path == workingConfig && m.configPath == "" && m.getenv("MINUTEBOOK_CONFIG") == "" {
		err = fmt.Errorf("%w (the configuration is %s of the working directory; -c FILE names another one, and with --data DIR none is read)", err, path)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return cfg, nil
}

// takeData has --data name the directory that a flag of the command names otherwise.
func (m *Main) takeData(cmd *cobra.Command, flag string) error {
	if m.dataDir == "" {
		return nil
	}
	if cmd.Flags().Changed(flag) {
		return &usageError{fmt.Errorf("--data and --%s name the same directory; give one of them", flag)}
	}
	dir, err := filepath.Abs(m.dataDir)
	if err != nil {
		return fmt.Errorf("find the data directory: %w", err)
	}
	return cmd.Flags().Set(flag, dir)
}

// workingConfig is the configuration where none is named.
const workingConfig = "config.toml"

// readConfiguration identifies the file that loadConfig reads.
func (m *Main) readConfiguration() (control.Configuration, error) {
	path, err := m.configFile()
	if err != nil {
		return control.Configuration{}, err
	}
	return control.ReadConfiguration(path)
}

// configFile returns the configuration file to read, or "" with --data alone. A command
// about the installed service finds the secrets that systemd keeps for it while it runs.
func (m *Main) configFile() (string, error) {
	path, err := m.findConfig()
	if dir := m.joinRoot(installedCredentials); m.isInstalled(path) && m.getenv("CREDENTIALS_DIRECTORY") == "" {
		if _, err := os.ReadDir(dir); err == nil { // systemd hides those of all units from one that has none
			m.Environ = append(m.Environ, "CREDENTIALS_DIRECTORY="+dir)
		}
	}
	return path, err
}

func (m *Main) findConfig() (string, error) {
	if m.configPath != "" {
		return m.configPath, m.completeInstalled(m.configPath)
	}
	if m.dataDir != "" {
		return "", nil
	}
	named := m.getenv("MINUTEBOOK_CONFIG")
	path := cmp.Or(named, workingConfig)
	_, err := os.Stat(path)
	// A working directory that another user may not enter (sudo -u) has no configuration for that user.
	if isAbsent := errors.Is(err, fs.ErrNotExist) || named == "" && errors.Is(err, fs.ErrPermission); !isAbsent {
		return path, m.completeInstalled(path) // reading it names another mistake
	}
	if m.getenv("MINUTEBOOK_DATA_DIR") != "" {
		return "", nil // the environment alone suffices
	}
	if named != "" {
		return path, nil // its absence is an error
	}
	if path, ok, err := m.findInstalled(); ok || err != nil {
		return path, err
	}
	return "", &usageError{errors.New("find the archive: name its configuration with -c FILE or its folder with --data DIR")}
}

// Where minutebook.service of the packages has its configuration, its archive and, while it
// runs, its secrets (LoadCredential=), and its user.
const (
	installedUser        = "minutebook"
	installedConfig      = "/etc/minutebook/config.toml"
	installedData        = "/var/lib/minutebook"
	installedCredentials = "/run/credentials/minutebook.service"
)

// findInstalled takes the configuration and the archive of the installed service, as its
// unit does. ok is false where there is none.
func (m *Main) findInstalled() (path string, ok bool, err error) {
	data, file := m.joinRoot(installedData), m.joinRoot(installedConfig)
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		return "", false, nil
	}
	if unix.Access(data, unix.R_OK|unix.X_OK) != nil {
		return "", false, &usageError{fmt.Errorf("find the archive: %s belongs to the service's user; give the command as that user or by sudo, or name another archive with -c FILE or --data DIR", data)}
	}
	m.dataDir = data
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		m.configPath = file
	}
	return m.configPath, true, nil
}

// completeInstalled takes the archive of the installed service for a named configuration of
// that service where nothing, the file neither, names an archive: the unit does.
func (m *Main) completeInstalled(path string) error {
	if !m.isInstalled(path) || m.dataDir != "" {
		return nil
	}
	if _, err := config.FindDataDir(path, "", m.Environ); err == nil {
		return nil
	}
	_, _, err := m.findInstalled()
	return err
}

// isInstalled reports whether a path is that of the installed service's configuration.
func (m *Main) isInstalled(path string) bool {
	abs, err := filepath.Abs(path)
	return path != "" && err == nil && abs == m.joinRoot(installedConfig)
}

// joinRoot returns a path of the installed service.
func (m *Main) joinRoot(path string) string { return filepath.Join(m.root, path) }

func (m *Main) getenv(name string) string {
	prefix := name + "="
	for _, kv := range m.Environ {
		if len(kv) > len(prefix) && kv[:len(prefix)] == prefix {
			return kv[len(prefix):]
		}
	}
	return ""
}
