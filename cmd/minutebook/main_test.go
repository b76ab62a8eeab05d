package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"minutebook/internal/testrun"
)

// TestMain puts the program on the PATH of this package's tests, as a process
// of its own that can be killed.
func TestMain(m *testing.M) {
	// Most tests wait for programs: more of them than there are processors run at a time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(testrun.Watched{Tests: m}, map[string]func(){"minutebook": main})
}

func TestScripts(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}

// program is a running minutebook.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // first line of its standard output
	lines  chan string
	mu     sync.Mutex
	stderr strings.Builder // guarded by mu
	ended  chan struct{}
}

// start runs a command that prints its address as the first line.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command("minutebook", args...), lines: make(chan string, 100), ended: make(chan struct{})}
	out, in := io.Pipe()
	p.cmd.Stdout = in
	p.cmd.Stderr = p
	p.cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		in.Close()
		close(p.ended)
	}()
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.kill)
	select {
	case line, ok := <-p.lines:
		if !ok {
			t.Fatalf("minutebook %s ended at once: %s", strings.Join(args, " "), p.log())
		}
		p.url = line
	case <-time.After(patience):
		t.Fatalf("minutebook %s printed nothing: %s", strings.Join(args, " "), p.log())
	}
	return p
}

// Write collects the program's log.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *program) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// kill is kill -9: nothing is tidied up.
func (p *program) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// stop is Ctrl-C; the program must end by itself and well.
func (p *program) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("does not stop on Ctrl-C: %s", p.log())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("exit code %d after Ctrl-C: %s", code, p.log())
	}
}

// run executes a command to its end and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("minutebook", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("minutebook %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// runJSON executes a command with --json. Its output has to be all of T, and T the
// shape of the command in docs/json.md.
func runJSON[T any](t *testing.T, args ...string) T {
	t.Helper()
	var v T
	checkShape(t, reflect.TypeFor[T](), args)
	out := run(t, append(args, "--json")...)
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("minutebook %s: %v in %.200s", strings.Join(args, " "), err, out)
	}
	return v
}

// checkShape fails where printedShapes has another type for a command.
func checkShape(t *testing.T, shape reflect.Type, args []string) {
	t.Helper()
	cmd, _, err := (&Main{}).rootCmd().Find(args)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	if !slices.ContainsFunc(printedShapes, func(p printedShape) bool { return p.shape == shape && slices.Contains(p.names(), name) }) {
		t.Errorf("%s prints %v, of which printedShapes does not know", name, shape)
	}
}

// patience is how long a test waits for an event that comes within a second or two on an idle machine. It is
// long, so that a loaded one fails no test, and ends well before a test's own time.
const patience = 5 * time.Minute

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, yes func() (bool, any)) {
	t.Helper()
	within(t, patience, what, yes)
}

// within asks until the answer is yes, more and more seldom, since many ask by a
// program. The failure's text has the last thing that was asked about.
func within(t *testing.T, timeout time.Duration, what string, yes func() (bool, any)) {
	t.Helper()
	var last any
	pause := 100 * time.Millisecond
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(pause) {
		var ok bool
		if ok, last = yes(); ok {
			return
		}
		pause = min(pause*3/2, time.Second)
	}
	t.Fatalf("%s: not within %v; last seen: %+v", what, timeout, last)
}

// pageAddress waits for the log to say where the page listens: the daemon's first line of
// standard output may come before its log.
func (p *program) pageAddress() string {
	p.t.Helper()
	var found []string
	eventually(p.t, "the log says where the page listens", func() (bool, any) {
		found = regexp.MustCompile(`"web":"([^"]+)"`).FindStringSubmatch(p.log())
		return found != nil, p.log()
	})
	return found[1]
}

// get fetches a page and returns its body; anything but 200 fails the test.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %.300s", url, resp.Status, body)
	}
	return string(body)
}
