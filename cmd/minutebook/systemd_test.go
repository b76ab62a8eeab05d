package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// manager stands for systemd: it has two open sockets and takes notifications.
type manager struct {
	t       *testing.T
	where   []string   // arguments that say where the program finds its data
	sockets []*os.File // the page's and the receiver's
	urls    []string
	notices *net.UnixConn
	path    string // of notices
}

func newManager(t *testing.T) *manager {
	m := &manager{t: t, where: []string{"--data", filepath.Join(t.TempDir(), "data")}}
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		m.sockets, m.urls = append(m.sockets, f), append(m.urls, "http://"+l.Addr().String()+"/healthz")
		l.Close()
		t.Cleanup(func() { f.Close() })
	}
	dir, err := os.MkdirTemp("", "mb") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m.path = filepath.Join(dir, "notify")
	if m.notices, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.notices.Close() })
	return m
}

// run starts the program as systemd does and waits until it says that it is ready.
func (m *manager) run(environ ...string) *exec.Cmd {
	m.t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ exec minutebook serve --create "$@"`, "sh"}, m.where...)...)
	cmd.ExtraFiles, cmd.Stderr = m.sockets, os.Stderr
	cmd.Env = append(append(os.Environ(), "LISTEN_FDS=2", "LISTEN_FDNAMES=page:receiver", "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=600000",
		"MINUTEBOOK_LOG_LEVEL=error"), environ...)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// waitFor waits for a notification.
func (m *manager) waitFor(state string) {
	m.t.Helper()
	buffer := make([]byte, 4096)
	for {
		if err := m.notices.SetReadDeadline(time.Now().Add(patience)); err != nil {
			m.t.Fatal(err)
		}
		n, err := m.notices.Read(buffer)
		if err != nil {
			m.t.Fatalf("wait for %s: %v", state, err)
		}
		if strings.Contains(string(buffer[:n]), state) {
			return
		}
	}
}

// TestSocketsOutliveTheProgram stops the program and starts it again on the same sockets,
// as an upgrade does, while clients connect anew for every request: all are answered.
func TestSocketsOutliveTheProgram(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	m := newManager(t)
	program := m.run()
	m.waitFor("READY=1")
	m.waitFor("WATCHDOG=1")
	var answered atomic.Int64
	done := make(chan struct{})
	var clients sync.WaitGroup
	for _, url := range m.urls {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
			for {
				select {
				case <-done:
					return
				default:
				}
				resp, err := client.Get(url)
				if err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				resp.Body.Close()
				answered.Add(1)
			}
		})
	}
	for range 2 {
		before := answered.Load()
		program.Process.Signal(syscall.SIGTERM)
		m.waitFor("STOPPING=1")
		if err := program.Wait(); err != nil {
			t.Fatal(err)
		}
		program = m.run()
		m.waitFor("READY=1")
		for answered.Load() < before+20 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
	close(done)
	clients.Wait()
	program.Process.Signal(syscall.SIGTERM)
	if err := program.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSocketsOfEverybodyAreRefused hands over sockets that would show the page to
// everybody, or that mean nothing: the program ends with the code for a person.
func TestSocketsOfEverybodyAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	m := newManager(t)
	open, _ := socketOfEverybody(t)
	for _, c := range []struct {
		name   string
		socket *os.File
		names  string
	}{{"open to all", open, "page:receiver"}, {"unknown name", m.sockets[0], "web:receiver"}, {"twice", m.sockets[0], "page:page"}} {
		other := *m
		other.sockets = []*os.File{c.socket, m.sockets[1]}
		program := other.run("LISTEN_FDNAMES=" + c.names)
		program.Wait()
		if code := program.ProcessState.ExitCode(); code != 2 {
			t.Errorf("%s: exit code %d", c.name, code)
		}
	}
}

// socketOfEverybody returns an open socket that other machines reach, and its address here.
func socketOfEverybody(t *testing.T) (*os.File, string) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, fmt.Sprintf("http://127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
}

// TestReloadKeepsTheSocketOfEverybodyShut takes the sign-in out of the configuration of a
// page whose socket other machines reach: the page would have become everybody's.
func TestReloadKeepsTheSocketOfEverybodyShut(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	m := newManager(t)
	open, page := socketOfEverybody(t)
	m.sockets[0] = open
	file := filepath.Join(t.TempDir(), "config.toml")
	m.where = []string{"-c", file}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n")
	m.run()
	m.waitFor("READY=1")
	write("data_dir = \"data\"\n")
	out, err := exec.Command("minutebook", "reload", "-c", file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "can be reached from other machines") {
		t.Errorf("reload: %v: %s", err, out)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(page + "/api/v1/meetings")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		t.Error("the page answers everybody")
	}
}

// TestACrashIsNoMisuse ends a daemon as a watchdog does: not with 2, which is the exit code
// of a wrong configuration and with which the unit restarts nothing.
func TestACrashIsNoMisuse(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := start(t, "serve", "--create", "--data", t.TempDir())
	if err := p.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || !strings.Contains(p.log(), "goroutine 1 ") {
		t.Errorf("%v", p.cmd.ProcessState)
	}
}
