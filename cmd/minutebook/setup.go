package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/durable"
	syncer "minutebook/sync"
)

// setupAnswers are the answers to the questions of setup.
type setupAnswers struct {
	data, account, baseURL, email, keyFile string
	listen, publicURL                      string
	access, proxyHeader, proxyNetworks     string // access "": as publicURL says
	asksURL                                bool   // publicURL is asked for later
	receiverListen, receiverURL            string
	offline, sync                          bool
	key                                    string
}

func (m *Main) setupCmd() *cobra.Command {
	var a setupAnswers
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Write a configuration and create the archive",
		Long: `Asks for what a configuration needs, tries the address and the key at the service,
writes a file that one can read (-c FILE, or MINUTEBOOK_CONFIG, or config.toml) with the
key in a file of its own beside it, and creates the archive. It then reads the meetings
at once, newest first, where that is wanted; else the daemon does it. What a flag says
is not asked for. Without a terminal nothing is asked: --base-url and --api-key-file are
needed then, and --sync for the first read. A file that is there is never replaced.

With --public-url people sign in on the page (--access people), also at an OpenID Connect
provider, for which you add a table [web.oidc] to the file; or a proxy in front says who
asks (--access proxy, with --proxy-header and --proxy-networks). docs/access.md has all
ways.

The files of the installed service (-c ` + installedConfig + `) are made readable for
its user, and its archive is in ` + installedData + `.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := cmp.Or(m.configPath, m.getenv("MINUTEBOOK_CONFIG"), workingConfig)
			err := m.takeData(cmd, "data-dir")
			dir := m.getenv("MINUTEBOOK_DATA_DIR") // every command takes it instead of the file's
			if dir == "" && m.isInstalled(path) {
				dir = m.joinRoot(installedData) // which the unit takes
			}
			if err == nil && dir != "" && !cmd.Flags().Changed("data-dir") {
				err = cmd.Flags().Set("data-dir", dir)
			}
			if err != nil {
				return err
			}
			return m.setUp(cmd.Context(), cmd, path, a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.data, "data-dir", "data", "`directory` of the archive, relative to the file (--data: relative to the working directory)")
	f.StringVar(&a.account, "account", "me", "`name` of the account")
	f.StringVar(&a.baseURL, "base-url", "", "`address` of the service, with or without /external/v1")
	f.StringVar(&a.keyFile, "api-key-file", "", "`file` with the API key")
	f.StringVar(&a.email, "email", "", "`address` of the person whose account it is")
	f.StringVar(&a.listen, "listen", "127.0.0.1:8377", "`address` on which the page listens")
	f.StringVar(&a.publicURL, "public-url", "", "`address` under which others reach the page; empty: only this machine does")
	f.StringVar(&a.access, "access", "", "`who` may enter: owner (this machine alone, nobody is asked), people (they sign in) or proxy (it says who asks); default: people with --public-url, else owner")
	f.StringVar(&a.proxyHeader, "proxy-header", "", "`header` in which the proxy names the person's address, such as Remote-Email")
	f.StringVar(&a.proxyNetworks, "proxy-networks", "", "`networks` of the proxy between commas, such as 127.0.0.1/32; the header is taken from no others")
	limitFlag(f, "access", config.AccessOwner, config.AccessPeople, config.AccessProxy)
	f.StringVar(&a.receiverListen, "receiver-listen", "127.0.0.1:8378", "`address` on which deliveries come in, with --receiver-url")
	f.StringVar(&a.receiverURL, "receiver-url", "", "HTTPS `address` under which the service reaches this machine; empty: no deliveries")
	f.BoolVar(&a.offline, "offline", false, "do not try the address and the key")
	f.BoolVar(&a.sync, "sync", false, "read the meetings at once, newest first; else the daemon reads them")
	return cmd
}

func (m *Main) setUp(ctx context.Context, cmd *cobra.Command, path string, a setupAnswers) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return &usageError{fmt.Errorf("set up: %s is there already; edit it, or name another file with -c", path)}
	}
	if a.offline && a.sync {
		return &usageError{errors.New("set up: --sync calls the service; leave out --offline")}
	}
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return &usageError{fmt.Errorf("set up: %w", err)}
	}
	if a.proxyHeader+a.proxyNetworks != "" {
		if a.access = cmp.Or(a.access, config.AccessProxy); a.access != config.AccessProxy {
			return &usageError{fmt.Errorf("set up: --proxy-header and --proxy-networks count only with --access proxy, not %s", a.access)}
		}
	}
	if m.isTerminal(m.Stdin) {
		a.asksURL = !cmd.Flags().Changed("public-url")
		a.proxyHeader, a.proxyNetworks = cmp.Or(a.proxyHeader, "Remote-Email"), cmp.Or(a.proxyNetworks, "127.0.0.1/32") // which are asked for
		given := a
		if cmd.Flags().Changed("receiver-listen") { // else it is asked for
			given.receiverURL = cmp.Or(given.receiverURL, someURL)
		}
		err := given.check(path)
		for _, flag := range []string{"account", "data-dir"} {
			if err == nil && cmd.Flags().Changed(flag) {
				err = m.checkPlace(path, flag, &a)
			}
		}
		if err != nil {
			return &usageError{fmt.Errorf("set up: %w", err)}
		}
		if err := m.askAll(ctx, cmd, path, &a); err != nil {
			return err
		}
	}
	if err := m.readKey(path, &a); err != nil {
		return err
	}
	if a.baseURL == "" || a.key == "" {
		return &usageError{errors.New("set up: --base-url and --api-key-file are needed where nobody can be asked")}
	}
	if err := a.check(path); err != nil {
		return &usageError{fmt.Errorf("set up: %w", err)}
	}
	if a.offline {
		a.baseURL = serviceAddress(a.baseURL)
	} else {
		p := m.probeService(ctx, a.baseURL, a.key, newProbeBudget())
		if ctx.Err() != nil {
			return errNotAnswered
		}
		if p.Err != nil {
			return fmt.Errorf("set up: %w", explainProbe(p))
		}
		a.baseURL = p.BaseURL
		fmt.Fprintf(m.Stderr, "The service answers at %s.\n", a.baseURL)
	}
	running, err := m.create(ctx, path, a)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "configuration written: %s\n", path)
	switch {
	case a.sync && running:
		fmt.Fprintln(m.Stderr, "The service runs, and reads the meetings once it is restarted.")
	case a.sync:
		err = m.readFirst(ctx, path)
	}
	next := "minutebook serve -c " + path
	if m.isInstalled(path) {
		next = "systemctl restart minutebook"
	}
	fmt.Fprintf(m.Stdout, "next: %s\n", next)
	if a.page().Access != config.AccessOwner {
		fmt.Fprintf(m.Stdout, "then, for the first person: minutebook user add EMAIL --admin -c %s\n", path)
	}
	if a.receiverURL != "" {
		fmt.Fprintf(m.Stdout, "and for deliveries: minutebook webhook create %s -c %s\n", a.account, path)
	}
	return err
}

// readFirst reads the meetings of a new archive. The daemon goes on where it ends early.
func (m *Main) readFirst(ctx context.Context, path string) error {
	m.configPath = path
	_, err := call[control.SyncResult](ctx, m, "sync", syncer.Request{}, m.newProgress().Event)
	if err != nil {
		fmt.Fprintln(m.Stderr, "Not all is read. What is here is kept, and the daemon reads the rest.")
		return fmt.Errorf("read the meetings: %w", err)
	}
	return nil
}

// checkFolder fails when no file can be written into a folder: said before the questions.
func checkFolder(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s is not there; create it: mkdir -p %s", dir, dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("nothing can be written into the folder %s: %w; name another file with -c", dir, err)
	}
	return nil
}

// check fails when the configuration would refuse one of the answers that were given so
// far. The service and the key are tried later.
func (a *setupAnswers) check(path string) error {
	if a.baseURL != "" {
		if _, err := api.ParseBaseURL(a.baseURL); err != nil {
			return err
		}
	}
	if p, err := mail.ParseAddress(a.email); a.email != "" && (err != nil || p.Address != a.email) {
		return fmt.Errorf("--email: %q is no address such as ada@example.org", a.email)
	}
	dir := a.dir(path)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("--data-dir: %s is not a directory", dir)
	}
	if err := archive.CheckFree(dir); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	c := config.Default()
	c.DataDir, c.Web = a.data, a.page()
	if a.receiverURL != "" {
		c.Receiver.Listen, c.Receiver.PublicURL = a.receiverListen, a.receiverURL
	}
	c.Accounts = []config.Account{{Name: a.account, BaseURL: "https://service.example", APIKey: "key"}}
	return c.Check()
}

// dir returns the directory of the archive.
func (a *setupAnswers) dir(path string) string {
	if filepath.IsAbs(a.data) {
		return a.data
	}
	return filepath.Join(filepath.Dir(path), a.data)
}

// checkPlace fails when the answer that a flag gives names the place of another file or of an
// archive that another process has: setup would end with that after its last question.
func (m *Main) checkPlace(path, flag string, a *setupAnswers) error {
	switch {
	case flag == "account" && !m.namesKey(path, a):
		return checkAbsent(filepath.Join(filepath.Dir(path), a.account+".key"))
	case flag == "data-dir" && !m.isInstalled(path):
		dir := a.dir(path)
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			return nil // the archive is not there yet
		}
		lock, err := archive.LockDir(dir)
		if err != nil {
			return err
		}
		return lock.Release()
	}
	return nil
}

// someURL stands for an address that is asked for later: the flags that count beside it are
// checked before the first question, since none asks for them again.
const someURL = "https://minutes.example"

// page returns the settings of the page by the answers that were given so far.
func (a *setupAnswers) page() config.Web {
	w := config.Default().Web
	w.Listen, w.PublicURL = a.listen, a.publicURL
	if a.asksURL && a.access != config.AccessOwner {
		w.PublicURL = someURL
	}
	if w.PublicURL != "" {
		w.Access = config.AccessPeople
	}
	if w.Access = cmp.Or(a.access, w.Access); w.Access == config.AccessProxy {
		w.ProxyHeader = a.proxyHeader
		w.ProxyNetworks = strings.FieldsFunc(a.proxyNetworks, func(r rune) bool { return r == ',' || r == ' ' })
	}
	return w
}

// create writes the configuration and creates the archive, unless the installed service is
// running with the archive. After a failure the file is removed, so that other answers can be
// given.
func (m *Main) create(ctx context.Context, path string, a setupAnswers) (running bool, err error) {
	written, err := m.writeSetup(path, a)
	if err == nil {
		var cfg *config.Config
		if cfg, err = config.Load(path, m.dataDir, m.Environ); err != nil {
			err = &usageError{err}
		} else {
			err = m.createArchive(ctx, cfg, false, false)
		}
	}
	if m.isInstalled(path) && errors.Is(err, archive.ErrInUse) {
		return true, nil
	}
	if err != nil {
		for _, path := range written {
			err = errors.Join(err, durable.Remove(path))
		}
	}
	return false, err
}

// checkKey fails when a text cannot be a key.
func checkKey(key string) error {
	if key == "" {
		return errors.New("is empty")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("is not a key in one line")
	}
	return nil
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
	case api.IsAccountRefused(p.Err) && !api.IsNotFound(p.Err):
		return fmt.Errorf("%s refuses the key: %w", p.BaseURL, p.Err)
	}
	return fmt.Errorf("%s is no such service: %w; its address ends in %s", p.BaseURL, p.Err, servicePath)
}
