package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"minutebook/api"
	"minutebook/config"
	"minutebook/internal/durable"
)

// setupAnswers are the answers to the questions of setup.
type setupAnswers struct {
	data, account, baseURL, email, keyFile string
	listen, publicURL                      string
	receiverListen, receiverURL            string
	offline                                bool
	key                                    string // typed in
}

func (m *Main) setupCmd() *cobra.Command {
	var a setupAnswers
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Write a configuration and create the archive",
		Long: `Asks for what a configuration needs, tries the address and the key at the service,
writes a file that one can read (-c FILE, or config.toml) with the key in a file of its
own beside it, and creates the archive. What a flag says is not asked for. Without a
terminal nothing is asked: --base-url and --api-key-file are needed then. A file that
is there is never replaced.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.setUp(cmd.Context(), cmd, a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.data, "data-dir", "data", "`directory` of the archive, relative to the file")
	f.StringVar(&a.account, "account", "me", "`name` of the account")
	f.StringVar(&a.baseURL, "base-url", "", "`address` of the service, with or without /external/v1")
	f.StringVar(&a.keyFile, "api-key-file", "", "`file` with the API key")
	f.StringVar(&a.email, "email", "", "`address` of the person whose account it is")
	f.StringVar(&a.listen, "listen", "127.0.0.1:8377", "`address` on which the page listens")
	f.StringVar(&a.publicURL, "public-url", "", "`address` under which others reach the page: they sign in; empty: only this machine does")
	f.StringVar(&a.receiverListen, "receiver-listen", "127.0.0.1:8378", "`address` on which deliveries come in, with --receiver-url")
	f.StringVar(&a.receiverURL, "receiver-url", "", "HTTPS `address` under which the service reaches this machine; empty: no deliveries")
	f.BoolVar(&a.offline, "offline", false, "do not try the address and the key")
	return cmd
}

func (m *Main) setUp(ctx context.Context, cmd *cobra.Command, a setupAnswers) error {
	path := m.configPath
	if path == "" {
		path = "config.toml"
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return &usageError{fmt.Errorf("set up: %s is there already; edit it, or name another file with -c", path)}
	}
	if m.isTerminal(m.Stdin) {
		if err := a.check(path); err != nil {
			return &usageError{fmt.Errorf("set up: %w", err)}
		}
		if err := m.askAll(ctx, cmd, path, &a); err != nil {
			return err
		}
	}
	if err := m.readKey(&a); err != nil {
		return err
	}
	if a.baseURL == "" || a.key == "" {
		return &usageError{errors.New("set up: --base-url and --api-key-file are needed where nobody can be asked")}
	}
	if err := a.check(path); err != nil {
		return &usageError{fmt.Errorf("set up: %w", err)}
	}
	if !a.offline {
		p := m.probeService(ctx, a.baseURL, a.key, newProbeBudget())
		if p.Err != nil {
			return fmt.Errorf("set up: %w", explainProbe(p))
		}
		a.baseURL = p.BaseURL
		fmt.Fprintf(m.Stderr, "The service answers at %s.\n", a.baseURL)
	}
	if err := m.create(ctx, path, a); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "configuration written: %s\nnext: minutebook serve -c %s\n", path, path)
	if a.publicURL != "" {
		fmt.Fprintf(m.Stdout, "then, for the first person: minutebook user add EMAIL --admin -c %s\n", path)
	}
	if a.receiverURL != "" {
		fmt.Fprintf(m.Stdout, "and for deliveries: minutebook webhook create %s -c %s\n", a.account, path)
	}
	return nil
}

// check fails when the configuration would refuse one of the answers that were given so
// far. The address of the service and the key are tried later.
func (a *setupAnswers) check(path string) error {
	if _, err := mail.ParseAddress(a.email); err != nil && a.email != "" {
		return fmt.Errorf("--email: %q is no address such as ada@example.org", a.email)
	}
	dir := a.data
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("--data-dir: %s is not a directory", dir)
	}
	c := config.Default()
	c.DataDir, c.Web.Listen = a.data, a.listen
	if a.publicURL != "" {
		c.Web.Access, c.Web.PublicURL = config.AccessPeople, a.publicURL
	}
	if a.receiverURL != "" {
		c.Receiver.Listen, c.Receiver.PublicURL = a.receiverListen, a.receiverURL
	}
	c.Accounts = []config.Account{{Name: a.account, BaseURL: "https://service.example", APIKey: "key"}}
	return c.Check()
}

// create writes the configuration and creates the archive. After a failure the file
// is removed, so that other answers can be given.
func (m *Main) create(ctx context.Context, path string, a setupAnswers) error {
	written, err := m.writeSetup(path, a)
	if err == nil {
		var cfg *config.Config
		if cfg, err = config.Load(path, "", m.Environ); err != nil {
			err = &usageError{err}
		} else {
			err = m.createArchive(ctx, cfg, false, false)
		}
	}
	if err != nil {
		for _, path := range written {
			err = errors.Join(err, durable.Remove(path))
		}
	}
	return err
}

// newProbeBudget returns a budget for the few calls of a probe.
func newProbeBudget() *api.Budget {
	return api.NewBudget(api.BudgetOptions{Connection: "setup", Now: time.Now})
}

// explainProbe names the remedy for a probe that failed.
func explainProbe(p probed) error {
	switch {
	case isFailing(p.Err):
		return fmt.Errorf("the service does not work at present: %w; try again later, or leave the try out with --offline", p.Err)
	case !p.Reached:
		return fmt.Errorf("the service does not answer: %w; check the address, or leave the try out with --offline", p.Err)
	case api.IsAccountRefused(p.Err):
		return fmt.Errorf("%s refuses the key: %w", p.BaseURL, p.Err)
	}
	return fmt.Errorf("%s is no such service: %w; its address ends in %s", p.BaseURL, p.Err, servicePath)
}

// readKey reads the key of --api-key-file.
func (m *Main) readKey(a *setupAnswers) error {
	if a.keyFile == "" {
		return nil
	}
	raw, err := os.ReadFile(a.keyFile)
	if err != nil {
		return &usageError{fmt.Errorf("read --api-key-file: %w", err)}
	}
	if a.key = strings.TrimSpace(string(raw)); a.key == "" {
		return &usageError{fmt.Errorf("read --api-key-file: %s is empty", a.keyFile)}
	}
	if strings.ContainsFunc(a.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &usageError{fmt.Errorf("read --api-key-file: %s is not a key in one line", a.keyFile)}
	}
	if a.keyFile, err = filepath.Abs(a.keyFile); err != nil {
		return fmt.Errorf("find --api-key-file: %w", err)
	}
	return nil
}

// askAll asks for the answers that no flag gave, until the service takes the key. An
// answer that the configuration would refuse is asked for again.
func (m *Main) askAll(ctx context.Context, cmd *cobra.Command, path string, a *setupAnswers) error {
	ask := func(flag, question string, answer *string) error {
		for proposal := *answer; !cmd.Flags().Changed(flag); {
			text, err := m.ask(question, proposal)
			if err != nil {
				return err
			}
			*answer = text
			if err = a.check(path); err == nil {
				return nil
			}
			fmt.Fprintf(m.Stderr, "%v\n", err)
		}
		return nil
	}
	if err := m.askService(ctx, a, ask, cmd.Flags().Changed("base-url")); err != nil {
		return err
	}
	for _, q := range []struct {
		flag, question string
		answer         *string
	}{
		{"account", "A short name for the account", &a.account},
		{"email", "E-mail address of the person whose account it is", &a.email},
		{"data-dir", "Directory of the archive", &a.data},
		{"public-url", "Address under which other people reach the page (empty: only this machine)", &a.publicURL},
		{"listen", "The page listens on", &a.listen},
		{"receiver-url", "HTTPS address under which the service reaches this machine (empty: none)", &a.receiverURL},
	} {
		if err := ask(q.flag, q.question, q.answer); err != nil {
			return err
		}
	}
	return nil
}

// askService asks for the service's address and key until the service takes them. It
// fails where both came by flags and the service refuses them.
func (m *Main) askService(ctx context.Context, a *setupAnswers, ask func(flag, question string, answer *string) error, addressByFlag bool) error {
	for {
		if err := ask("base-url", "Address of the service", &a.baseURL); err != nil {
			return err
		}
		if a.keyFile == "" {
			key, err := m.askSecret("API key (not shown): ")
			if err != nil {
				return err
			}
			a.key = key
		} else if err := m.readKey(a); err != nil {
			return err
		}
		if a.offline {
			return nil
		}
		p := m.probeService(ctx, a.baseURL, a.key, newProbeBudget())
		if p.Err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(m.Stderr, "%v\n", explainProbe(p))
		if addressByFlag && a.keyFile != "" {
			return errors.New("set up: nothing is left to ask for; correct --base-url or --api-key-file")
		}
	}
}

// ask asks a question on the terminal. An empty line means the proposal.
func (m *Main) ask(question, proposal string) (string, error) {
	if proposal != "" {
		question += " [" + proposal + "]"
	}
	fmt.Fprint(m.Stderr, question+": ")
	line, err := readTerminalLine(m.Stdin)
	if err != nil {
		return "", err
	}
	if line == "" {
		return proposal, nil
	}
	return line, nil
}

// askSecret asks without showing the answer.
func (m *Main) askSecret(question string) (string, error) {
	fmt.Fprint(m.Stderr, question)
	f, ok := m.Stdin.(*os.File)
	if !ok {
		return "", errors.New("read the key: standard input is no terminal")
	}
	raw, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(m.Stderr)
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// readTerminalLine reads a line and nothing beyond it: the next answer may be read
// without echo.
func readTerminalLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := r.Read(b)
		if n > 0 && b[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return "", errors.New("set up: the questions are not answered; nothing is written")
		}
	}
}

// writeSetup writes the configuration, and a key that was typed in beside it. It returns
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
	line := func(key, value string) {
		if value == "" {
			return
		}
		raw, err := toml.Marshal(map[string]string{key: value})
		if err != nil { // a text can always be written
			raw = fmt.Appendf(nil, "%s = %q\n", key, value)
		}
		b.Write(raw)
	}
	b.WriteString("# Minutebook's configuration. `minutebook config show` lists every setting with its\n# value; `minutebook config check` finds mistakes.\n\n# The archive.\n")
	line("data_dir", a.data)
	b.WriteString("\n# The page.\n[web]\n")
	line("listen", a.listen)
	if a.publicURL != "" {
		b.WriteString("# Everybody signs in; the first person: minutebook user add EMAIL --admin\n")
		line("access", config.AccessPeople)
		line("public_url", a.publicURL)
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
	if err := durable.WriteFile(path, []byte(b.String())); err != nil {
		return written, fmt.Errorf("set up: write the configuration: %w", err)
	}
	return append(written, path), nil
}

// writeKey writes the key to a file beside the configuration and returns the file's name.
func writeKey(dir string, a setupAnswers) (string, error) {
	if a.account != filepath.Base(a.account) {
		return "", &usageError{fmt.Errorf("set up: --account: %q: use small letters, digits, - and _", a.account)}
	}
	name := a.account + ".key"
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("set up: %s is there already; move it, or name it with --api-key-file", path)
	}
	if err := durable.WriteFile(path, []byte(a.key+"\n")); err != nil {
		return "", fmt.Errorf("set up: write the key: %w", err)
	}
	return name, nil
}
