package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"minutebook/api"
	"minutebook/config"
)

// errNotAnswered ends setup by Ctrl-C, Ctrl-D or the end of the terminal.
var errNotAnswered = errors.New("set up: the questions are not answered; nothing is written")

// askFunc asks for the answer that a flag gives, unless it was given.
type askFunc func(flag, question string, answer *string) error

// askAll asks for the answers that no flag gave, until the service takes the key. An
// answer that the configuration would refuse is asked for again.
func (m *Main) askAll(ctx context.Context, cmd *cobra.Command, path string, a *setupAnswers) error {
	ask := func(flag, question string, answer *string) error {
		for proposal := *answer; !cmd.Flags().Changed(flag); {
			text, err := m.ask(ctx, question, proposal)
			if err != nil {
				return err
			}
			*answer = text
			if err = a.check(path); err == nil {
				err = m.checkPlace(path, flag, a)
			}
			if err == nil {
				return nil
			}
			fmt.Fprintf(m.Stderr, "%v\n", err)
		}
		return nil
	}
	if err := m.askService(ctx, path, a, ask, cmd.Flags().Changed("base-url")); err != nil {
		return err
	}
	for _, q := range []struct {
		flag, question string
		answer         *string
	}{
		{"account", "A short name for the account", &a.account},
		{"email", "E-mail address of the person whose account it is", &a.email},
		{"data-dir", "Directory of the archive", &a.data},
	} {
		if err := ask(q.flag, q.question, q.answer); err != nil {
			return err
		}
	}
	if err := m.askPage(a, ask); err != nil {
		return err
	}
	if err := ask("receiver-url", "HTTPS address under which the service reaches this machine (empty: none)", &a.receiverURL); err != nil {
		return err
	}
	if a.receiverURL != "" {
		if err := ask("receiver-listen", "Deliveries come in on", &a.receiverListen); err != nil {
			return err
		}
	}
	if a.offline || cmd.Flags().Changed("sync") {
		return nil
	}
	return m.askFirstRead(ctx, a)
}

// askPage asks under which address others reach the page, and who says who they are then.
func (m *Main) askPage(a *setupAnswers, ask askFunc) error {
	a.asksURL = false
	if err := ask("public-url", "Address under which other people reach the page (empty: only this machine)", &a.publicURL); err != nil {
		return err
	}
	if a.publicURL != "" && a.access == "" {
		fmt.Fprintln(m.Stderr, "People sign in on the page, also at an OpenID Connect provider, for which you add a table\n"+
			"[web.oidc] to the file; or a proxy in front signs them in and says who asks. docs/access.md has more.")
		a.access = config.AccessPeople
		if err := ask("access", "Who says who asks (people, proxy)", &a.access); err != nil {
			return err
		}
	}
	if a.access == config.AccessProxy {
		if err := ask("proxy-header", "Header in which the proxy names the person's address", &a.proxyHeader); err != nil {
			return err
		}
		if err := ask("proxy-networks", "Networks of the proxy, between commas", &a.proxyNetworks); err != nil {
			return err
		}
	}
	return ask("listen", "The page listens on", &a.listen)
}

// askFirstRead asks whether the meetings are read at once.
func (m *Main) askFirstRead(ctx context.Context, a *setupAnswers) error {
	for {
		text, err := m.ask(ctx, "Read the meetings now, newest first (no: minutebook serve does it)", "yes")
		if err != nil {
			return err
		}
		switch strings.ToLower(text) {
		case "y", "yes":
			a.sync = true
			return nil
		case "n", "no":
			return nil
		}
		fmt.Fprintln(m.Stderr, "answer yes or no")
	}
}

// askService asks for the service's address and key until the service takes them. It
// fails where both came by flags and the service refuses them.
func (m *Main) askService(ctx context.Context, path string, a *setupAnswers, ask askFunc, addressByFlag bool) error {
	for {
		for once := true; once || a.baseURL == "" && !addressByFlag; once = false {
			if err := ask("base-url", "Address of the service", &a.baseURL); err != nil {
				return err
			}
		}
		if a.keyFile != "" {
			if err := m.readKey(path, a); err != nil {
				return err
			}
		} else if err := m.askKey(ctx, a); err != nil {
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
			return errNotAnswered
		}
		fmt.Fprintf(m.Stderr, "%v\n", explainProbe(p))
		if addressByFlag && a.keyFile != "" {
			return errors.New("set up: nothing is left to ask for; correct --base-url or --api-key-file")
		}
	}
}

// readKey reads the key of --api-key-file. It takes a key for a typed one where the daemon
// could not read the file again.
func (m *Main) readKey(path string, a *setupAnswers) error {
	if a.keyFile == "" {
		return nil
	}
	raw, err := os.ReadFile(a.keyFile)
	if err != nil {
		return &usageError{fmt.Errorf("read --api-key-file: %w", err)}
	}
	a.key = strings.TrimSpace(string(raw))
	if err := checkKey(a.key); err != nil {
		return &usageError{fmt.Errorf("read --api-key-file: %s %w", a.keyFile, err)}
	}
	if a.keyFile, err = filepath.Abs(a.keyFile); err != nil {
		return fmt.Errorf("find --api-key-file: %w", err)
	}
	if !m.namesKey(path, a) {
		a.keyFile = ""
	}
	return nil
}

// namesKey reports whether the configuration will name the file that the key comes from. Else
// the key is written to a file beside the configuration.
func (m *Main) namesKey(path string, a *setupAnswers) bool {
	file, err := filepath.Abs(a.keyFile)
	isForeign := m.isInstalled(path) && filepath.Dir(file) != m.joinRoot(filepath.Dir(installedConfig))
	return a.keyFile != "" && err == nil && !isForeign && isLasting(file)
}

// isLasting reports whether a path names the same file later: a pipe is read once, and
// /dev/stdin is another file for another process.
func isLasting(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && path != "/dev/stdin" && !strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/proc/")
}

// askKey asks for the key until it can be one.
func (m *Main) askKey(ctx context.Context, a *setupAnswers) (err error) {
	for {
		if a.key, err = m.askSecret(ctx, "API key (not shown): "); err != nil {
			return err
		}
		if err = checkKey(a.key); err == nil {
			return nil
		}
		fmt.Fprintf(m.Stderr, "the key %v\n", err)
	}
}

// ask asks a question on the terminal. An empty line means the proposal.
func (m *Main) ask(ctx context.Context, question, proposal string) (string, error) {
	if proposal != "" {
		question += " [" + proposal + "]"
	}
	fmt.Fprint(m.Stderr, question+": ")
	line, err := readTerminalLine(terminalInput{ctx, m.terminal()})
	if err != nil {
		fmt.Fprintln(m.Stderr)
		return "", err
	}
	if line == "" {
		return proposal, nil
	}
	return line, nil
}

// askSecret asks without showing the answer. The terminal shows typed letters again when
// it returns, after Ctrl-C too.
func (m *Main) askSecret(ctx context.Context, question string) (string, error) {
	file := m.terminal()
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return "", fmt.Errorf("set up: hide the key: %w", err)
	}
	line, err := term.NewTerminal(struct {
		terminalInput
		io.Writer
	}{terminalInput{ctx, file}, rawStream(m.Stderr)}, "").ReadPassword(question)
	if restored := term.Restore(int(file.Fd()), before); restored != nil {
		return "", fmt.Errorf("set up: show what is typed again: %w", restored)
	}
	if err != nil {
		fmt.Fprintln(m.Stderr)
		return "", errNotAnswered
	}
	return strings.TrimSpace(line), nil
}

// terminal returns standard input, of which isTerminal is true.
func (m *Main) terminal() *os.File { return m.Stdin.(*os.File) }

// terminalInput reads from a terminal, and fails when ctx ends: a plain read would wait
// for a line also after Ctrl-C.
type terminalInput struct {
	ctx  context.Context
	file *os.File
}

// Read implements [io.Reader]. It reads a byte: the next answer may be read in another
// mode of the terminal.
func (in terminalInput) Read(p []byte) (int, error) {
	for in.ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(in.file.Fd()), Events: unix.POLLIN}}, 100)
		switch {
		case n > 0:
			return in.file.Read(p[:1])
		case err != nil && !errors.Is(err, unix.EINTR):
			return 0, fmt.Errorf("wait for an answer: %w", err)
		}
	}
	return 0, in.ctx.Err()
}

// readTerminalLine reads a line.
func readTerminalLine(in terminalInput) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		if n > 0 && b[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return "", errNotAnswered
		}
	}
}

// probeTime is how long the service may take for its answer to a new account.
const probeTime = 15 * time.Second

// servicePath ends the address of every service.
const servicePath = "/external/v1"

// serviceAddress returns the address of a service that a person has given with its path or without.
func serviceAddress(given string) string {
	return strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(given), "/"), servicePath) + servicePath
}

// probed says how a service answers to a key.
type probed struct {
	BaseURL string // where it answers, which may be below the address that was given
	Err     error  // nil: it takes the key
	Reached bool   // it has answered
}

// probeService tries an API key at an address, and, where the address does not end as
// that of a service, below it first.
func (m *Main) probeService(ctx context.Context, address, key string, budget *api.Budget) (p probed) {
	given := strings.TrimRight(strings.TrimSpace(address), "/")
	for i, candidate := range slices.Compact([]string{serviceAddress(address), given}) {
		err := m.tryKey(ctx, candidate, key, budget)
		var answer *api.Error
		reached := err == nil || errors.As(err, &answer) && !isFailing(err) || api.IsUnusable(err)
		if i == 0 || err == nil {
			p = probed{BaseURL: candidate, Err: err, Reached: reached}
		}
		if err == nil || !reached || answer != nil && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
			return p
		}
	}
	return p
}

// isFailing reports whether the service works at present for nobody (5xx).
func isFailing(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.Status >= http.StatusInternalServerError
}

// tryKey makes one cheap call.
func (m *Main) tryKey(ctx context.Context, baseURL, key string, budget *api.Budget) error {
	ctx, stop := context.WithTimeout(api.WithoutRepetition(api.WithPriority(ctx, api.PriorityPerson)), probeTime)
	defer stop()
	client, err := api.NewClient(api.ClientOptions{BaseURL: baseURL, Credential: api.APIKey(key), Budget: budget,
		HTTP: &http.Client{Transport: http.DefaultTransport}, Now: time.Now, Logger: zerolog.Nop(), UserAgent: "minutebook/" + m.Version})
	if err != nil {
		return err
	}
	switch err = client.Check(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("reach %s: no answer within %s", baseURL, probeTime)
	case isFailing(err):
		return fmt.Errorf("reach %s: %w", baseURL, err)
	}
	return err
}
