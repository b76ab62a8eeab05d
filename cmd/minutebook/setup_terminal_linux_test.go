package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestSetupAsksAgain gives a wrong answer to each question on a terminal: the reason comes
// at once, and the question again.
func TestSetupAsksAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	master, slave := openTerminal(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("minutebook", "setup", "--offline", "-c", file)
	shown := &program{t: t}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, shown, shown
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := 0
	expect := func(text string) {
		t.Helper()
		eventually(t, 30*time.Second, "it shows "+text, func() (bool, any) {
			all := shown.log()
			i := strings.Index(all[seen:], text)
			if i >= 0 {
				seen += i + len(text)
			}
			return i >= 0, all
		})
	}
	answer := func(question, text string) {
		t.Helper()
		expect(question)
		if _, err := master.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer("Address of the service", "https://service.example")
	answer("API key", "mbk_key")
	for _, q := range []struct{ question, wrong, reason, right string }{
		{"A short name for the account [me]", "Ada Lovelace", "use small letters", "ada"},
		{"E-mail address", "nobody", "no address such as", "ada@example.org"},
		{"Directory of the archive [data]", "taken", "not a directory", ""},
		{"Address under which other people", "minutes.example", "web.public_url: is no http or https address", "https://minutes.example"},
		{"The page listens on [127.0.0.1:8377]", "8377", "web.listen: ", ""},
		{"HTTPS address", "http://hooks.example", "receiver.public_url: is no https address", "https://hooks.example"},
	} {
		answer(q.question, q.wrong)
		expect(q.reason)
		answer(q.question, q.right)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, shown.log())
	}
	if out := run(t, "config", "show", "-c", file); !strings.Contains(out, "receiver.public_url = 'https://hooks.example'") {
		t.Error(out)
	}
}

// TestATerminalObeysNobodysWords imports a talk with a title and words that are commands
// to a terminal, and one as its file: no output of a command on a terminal has any.
func TestATerminalObeysNobodysWords(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	data, talk := filepath.Join(dir, "data"), filepath.Join(dir, "Plan\x1b]0;owned\a\x1b[2J.vtt")
	for path, text := range map[string]string{talk: "WEBVTT\n\n00:01.000 --> 00:02.000\nrocket \x1b]52;c;b3duZWQ=\a\x1b[1A\u009b2J\rlaunch\n", filepath.Join(dir, "no\x1b[2J.vtt"): ""} {
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
		if args[0] == "search" && !strings.Contains(text, "rocket") {
			t.Errorf("search: %q", text)
		}
		if i := strings.IndexAny(text, "\x1b\a\r\u009b"); i >= 0 {
			t.Errorf("%q: %q", args, text)
		}
	}
}
