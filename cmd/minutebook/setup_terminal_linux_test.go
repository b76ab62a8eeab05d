package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"minutebook/internal/testrun"
)

// openTerminal returns the two ends of a terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// dialog is a command on a terminal of its own, and the text that the terminal showed.
type dialog struct {
	t             *testing.T
	master, slave *os.File
	shown         *program
	seen          int
	ended         chan error
}

// startDialog starts a command that asks on a terminal.
func startDialog(t *testing.T, args ...string) *dialog {
	t.Helper()
	d := &dialog{t: t, shown: &program{t: t}, ended: make(chan error, 1)}
	d.master, d.slave = openTerminal(t)
	cmd := exec.Command("minutebook", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.slave, d.shown, d.shown
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that Ctrl-C reaches it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); d.ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill(); <-done })
	return d
}

// expect waits for a text beyond those that were waited for before.
func (d *dialog) expect(text string) {
	d.t.Helper()
	eventually(d.t, "it shows "+text, func() (bool, any) {
		all := d.shown.log()
		i := strings.Index(all[d.seen:], text)
		if i >= 0 {
			d.seen += i + len(text)
		}
		return i >= 0, all
	})
}

// answer types a text at a question.
func (d *dialog) answer(question, text string) {
	d.t.Helper()
	d.expect(question)
	if _, err := d.master.WriteString(text); err != nil {
		d.t.Fatal(err)
	}
}

// TestSetupAsksAgain gives a wrong answer to each question on a terminal: the reason comes
// at once, and the question again.
func TestSetupAsksAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDialog(t, "setup", "--offline", "-c", file)
	d.answer("Address of the service: ", "\n")
	d.answer("Address of the service: ", "service.example:443\n")
	d.expect("want an address such as https://")
	d.answer("Address of the service: ", "https://service.example\n")
	d.answer("API key", "\n")
	d.expect("the key is empty")
	d.answer("API key", "two words\n")
	d.expect("is not a key in one line")
	d.answer("API key", "mbk_key\n")
	for _, q := range []struct{ question, wrong, reason, right string }{
		{"A short name for the account [me]", "Ada Lovelace", "use small letters", "ada"},
		{"E-mail address", "Ada <ada@example.org>", "no address such as", "ada@example.org"},
		{"Directory of the archive [data]", "taken", "not a directory", ""},
		{"Address under which other people", "minutes.example", "web.public_url: is no http or https address", "https://minutes.example"},
		{"Who says who asks (people, proxy) [people]", "nobody", "web.access: \"nobody\" is none of owner, people, proxy", "proxy"},
		{"Header in which the proxy names the person's address [Remote-Email]", "Cookie", "web.proxy_header: Cookie is set by every browser", ""},
		{"Networks of the proxy, between commas [127.0.0.1/32]", "everywhere", "web.proxy_networks: ", "127.0.0.1/32, 10.0.0.0/8"},
		{"The page listens on [127.0.0.1:8377]", "8377", "web.listen: ", ""},
		{"HTTPS address", "http://hooks.example", "receiver.public_url: is no https address", "https://hooks.example"},
		{"Deliveries come in on [127.0.0.1:8378]", "8378", "receiver.listen: ", "127.0.0.1:8379"},
	} {
		d.answer(q.question, q.wrong+"\n")
		d.expect(q.reason)
		d.answer(q.question, q.right+"\n")
	}
	if err := <-d.ended; err != nil {
		t.Fatalf("%v: %s", err, d.shown.log())
	}
	out := run(t, "config", "show", "-c", file)
	for _, want := range []string{"web.access = 'proxy'", "web.proxy_header = 'Remote-Email'", "web.proxy_networks = ['127.0.0.1/32', '10.0.0.0/8']", "receiver.public_url = 'https://hooks.example'", "receiver.listen = '127.0.0.1:8379'"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

// TestSetupAsksAgainWhereItCannotEnd answers with an account whose key is there, a directory that
// only a shell would find, and one that another process has: the reason comes at once.
func TestSetupAsksAgainWhereItCannotEnd(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(filepath.Join(dir, "me.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "service", "--data", filepath.Join(dir, "busy"))
	begin := func(args ...string) *dialog {
		return startDialog(t, append([]string{"setup", "--offline", "-c", file}, args...)...)
	}
	d := begin()
	d.answer("Address of the service: ", "https://service.example\n")
	d.answer("API key", "mbk_key\n")
	d.answer("A short name for the account [me]", "\n")
	d.expect("me.key is there already")
	d.answer("A short name for the account [me]", "ada\n")
	d.answer("E-mail address", "\n")
	d.answer("Directory of the archive [data]", "~/minutes\n")
	d.expect("begins with ~")
	d.answer("Directory of the archive [data]", "busy\n")
	d.expect("data directory is in use by process")
	d.answer("Directory of the archive [data]", "\n")
	for _, q := range []string{"Address under which other people", "The page listens on", "HTTPS address"} {
		d.answer(q, "\n")
	}
	if err := <-d.ended; err != nil {
		t.Fatalf("%v: %s", err, d.shown.log())
	}
	file = filepath.Join(dir, "other.toml")
	for want, args := range map[string][]string{
		"me.key is there already":             {"--account", "me"},
		"me.key is there already; move it":    {"--account", "me", "--api-key-file", "/dev/stdin"},
		"data directory is in use by process": {"--data-dir", "busy"},
		"begins with ~":                       {"--data-dir", "~/minutes"},
		"--data: \"~/minutes\" begins with ~": {"--data=~/minutes"},
		"--config: \"~/c.toml\" begins with":  {"--config=~/c.toml"},
	} {
		d := begin(args...)
		d.expect(want)
		if shown := d.shown.log(); strings.Contains(shown, "Address of the service") {
			t.Errorf("%q: %s", args, shown)
		}
	}
}

// TestSetupChecksFlagsFirst gives flags, on a terminal, that count beside an address that is
// asked for: a wrong one is refused before the first question, since none asks for it again.
func TestSetupChecksFlagsFirst(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	begin := func(args ...string) *dialog {
		return startDialog(t, append([]string{"setup", "--offline", "-c", filepath.Join(t.TempDir(), "config.toml")}, args...)...)
	}
	for want, args := range map[string][]string{
		"web.proxy_networks: ":                                 {"--proxy-networks", "everywhere"},
		"web.proxy_header: Cookie is set by every browser":     {"--access", "proxy", "--proxy-header", "Cookie"},
		"web.listen: \"8377\" is no address":                   {"--access", "people", "--listen", "8377"},
		"web.listen: \"0.0.0.0:8377\" can be reached":          {"--access", "owner", "--listen", "0.0.0.0:8377"},
		"receiver.listen: \"8378\" is no address to listen on": {"--receiver-listen", "8378"},
	} {
		d := begin(args...)
		d.expect("minutebook: set up: ")
		if shown := d.shown.log(); !strings.Contains(shown, want) || strings.Contains(shown, "Address of the service") {
			t.Errorf("%q: %s", args, shown)
		}
	}
	for _, args := range [][]string{{"--access", "people"}, {"--access", "proxy"}, nil} { // the address for others may come
		begin(append(args, "--listen", "0.0.0.0:8377")...).expect("Address of the service: ")
	}
}

// TestSetupReadsAtOnce presses Ctrl-C while the first read, which a person asked for, goes
// on: the configuration and the meetings that were read stay.
func TestSetupReadsAtOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir(), "--latency", "500ms")
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	d := startDialog(t, "setup", "-c", file, "--base-url", upstream.url, "--account", "ada", "--email", "ada@company.example",
		"--data-dir", "data", "--public-url", "", "--listen", "127.0.0.1:0", "--receiver-url", "")
	d.answer("API key", key+"\n")
	d.answer("Read the meetings now, newest first (no: minutebook serve does it) [yes]", "later\n")
	d.expect("answer yes or no")
	d.answer("Read the meetings now", "\n")
	d.answer("calls: ", "\x03")
	d.expect("the daemon reads the rest")
	d.expect("next: minutebook serve -c " + file)
	if err := <-d.ended; err == nil {
		t.Error("an interrupted read succeeds")
	}
	if out := run(t, "sync", "-c", file); !strings.Contains(out, "done: ") {
		t.Error(out)
	}
}

// TestLoginAsksOnATerminal pastes the address that the browser was sent to.
func TestLoginAsksOnATerminal(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	service, config, key := startOAuthService(t, "")
	run(t, "init", "-c", config)
	d := startDialog(t, "auth", "login", "work", "-c", config)
	d.expect("paste the address it was sent to:")
	address := regexp.MustCompile(regexp.QuoteMeta(service.url) + `\S+`).FindString(d.shown.log())
	if _, err := d.master.WriteString("https://minutes.example/oauth?" + allow(t, address, key) + "\n"); err != nil {
		t.Fatal(err)
	}
	d.expect("account work is connected")
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
	service.stop()
}

// TestSetupEndsAtOnce presses Ctrl-C and Ctrl-D at questions, at the one whose answer is
// not shown too: the command ends, nothing is written, and the terminal shows letters
// again.
func TestSetupEndsAtOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, questions := range map[string][]string{
		"address": {"Address of the service"},
		"key":     {"Address of the service", "API key"},
		"name":    {"Address of the service", "API key", "A short name"},
	} {
		for key, typed := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04"} {
			t.Run(name+" "+key, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				d := startDialog(t, "setup", "--offline", "-c", filepath.Join(dir, "config.toml"))
				before, err := unix.IoctlGetTermios(int(d.slave.Fd()), unix.TCGETS)
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range questions[:len(questions)-1] {
					d.answer(q, "https://service.example\n")
				}
				d.answer(questions[len(questions)-1], typed)
				d.expect("the questions are not answered; nothing is written")
				if err := <-d.ended; err == nil {
					t.Error("it succeeds")
				}
				after, err := unix.IoctlGetTermios(int(d.slave.Fd()), unix.TCGETS)
				if err != nil || *after != *before {
					t.Errorf("the terminal is left as %+v, and was %+v, %v", after, before, err)
				}
				if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
					t.Errorf("%v is written, %v", files, err)
				}
			})
		}
	}
}

// TestATerminalObeysNobodysWords imports a talk with a title and words that are commands
// to a terminal, and one as its file: no output of a command on a terminal has any.
func TestATerminalObeysNobodysWords(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	data, talk := filepath.Join(dir, "data"), filepath.Join(dir, "Plan\u202e\x1b]0;owned\a\x1b[2J.vtt")
	for path, text := range map[string]string{talk: "WEBVTT\n\n00:01.000 --> 00:02.000\nrocket \u200f\u202e\u2066\x1b]52;c;b3duZWQ=\a\x1b[1A\u009b2J\rlaunch\n", filepath.Join(dir, "no\x1b[2J.vtt"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("minutebook", "init", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"import", dir}, {"search", "rocket"}, {"status"}, {"show", "8000000000000000"}, {"import", talk + "\x1b[2J"}} {
		master, slave := openTerminal(t)
		cmd := exec.Command("minutebook", append(args, "--data", data)...)
		cmd.Stdout, cmd.Stderr, cmd.Env = slave, slave, append(os.Environ(), "MINUTEBOOK_LOG_FORMAT=json")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait(); slave.Close() }()
		var shown strings.Builder
		_, _ = io.Copy(&shown, master) // ends with EIO when the other end is closed
		<-ended
		text := strings.NewReplacer("\r\n", "\n", "\rimport ", "", "\x1b[1m", "", "\x1b[0m", "").Replace(shown.String())
		if args[0] == "search" && !strings.Contains(text, "rocket \u200f") { // a mark that Arabic has
			t.Errorf("search: %q", text)
		}
		if i := strings.IndexAny(text, "\x1b\a\r\u009b\u202e\u2066"); i >= 0 {
			t.Errorf("%q: %q", args, text)
		}
	}
}
