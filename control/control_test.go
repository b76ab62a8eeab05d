package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"minutebook/archive"
	"minutebook/internal/testrun"
	"minutebook/mcp"
)

type greeting struct{ Name string }

// operations are three small ones: one that reports and answers, one that
// fails, one that waits until its caller is gone.
func operations(gone chan<- error) *Registry {
	r := NewRegistry()
	Register(r, "greet", func(_ context.Context, q greeting, emit Emit) (string, error) {
		for _, word := range []string{"one", "two"} {
			if err := emit(word); err != nil {
				return "", err
			}
		}
		return "hello " + q.Name, nil
	})
	Register(r, "fail", func(context.Context, struct{}, Emit) (struct{}, error) {
		return struct{}{}, archive.ErrNotFound
	})
	Register(r, "wait", func(ctx context.Context, _ struct{}, emit Emit) (struct{}, error) {
		if err := emit("waiting"); err != nil {
			return struct{}{}, err
		}
		<-ctx.Done()
		gone <- ctx.Err()
		return struct{}{}, ctx.Err()
	})
	return r
}

// serve runs the operations on a socket of dir and returns how to stop it.
func serve(t *testing.T, dir string, r *Registry) (stop func()) {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, r) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestBothWaysAnswerTheSame(t *testing.T) {
	dir := t.TempDir()
	r := operations(nil)
	defer serve(t, dir, r)()
	client, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, caller := range map[string]Caller{"here": r, "daemon": client} {
		var events []string
		got, err := Call[string](t.Context(), caller, "greet", greeting{"Ada"}, func(e json.RawMessage) error {
			events = append(events, string(e))
			return nil
		})
		if err != nil || got != "hello Ada" || !slices.Equal(events, []string{`"one"`, `"two"`}) {
			t.Errorf("%s: got %q, events %q, error %v", name, got, events, err)
		}
		_, err = Call[struct{}](t.Context(), caller, "fail", struct{}{}, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindNotFound || e.Message != archive.ErrNotFound.Error() {
			t.Errorf("%s: failure is %#v", name, err)
		}
		_, err = Call[struct{}](t.Context(), caller, "nothing", struct{}{}, nil)
		if !errors.As(err, &e) || e.Kind != KindUnknown {
			t.Errorf("%s: unknown operation is %#v", name, err)
		}
	}
}

// TestTheLongestMessageFits calls with as many characters as an assistant's message may have,
// each of which JSON writes as six.
func TestTheLongestMessageFits(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	defer serve(t, dir, operations(nil))()
	client, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	name := strings.Repeat("<", mcp.MaxMessage)
	if answer, err := Call[string](t.Context(), client, "greet", greeting{name}, nil); err != nil || answer != "hello "+name {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
}

func TestCallerGoneCancelsOperation(t *testing.T) {
	dir := t.TempDir()
	gone := make(chan error, 1)
	defer serve(t, dir, operations(gone))()
	client, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Call[struct{}](ctx, client, "wait", struct{}{}, func(json.RawMessage) error {
		cancel()
		return nil
	})
	if err == nil {
		t.Error("the call ended well")
	}
	select {
	case err := <-gone:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("operation saw %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the operation goes on without its caller")
	}
}

func TestDaemonThatStopsIsAnError(t *testing.T) {
	const want = "ask the daemon for greet: it ended before it had answered; see in its log why, and run the command again"
	_, err := readFrames("greet", strings.NewReader("{\"event\":1}\n{\"res"), nil)
	if err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
	dir := t.TempDir()
	path, _, err := socketPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // killed while it is asked
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	for range 300 { // the connection breaks before the request, while it is written, or after it
		client, err := Dial(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Call(t.Context(), "greet", json.RawMessage("{}"), nil); err == nil || err.Error() != want {
			t.Fatalf("error is %v", err)
		}
		client.Close()
	}
}

// TestAnEndedOperationSaysSo has an operation end with its daemon: one line, in our words.
func TestAnEndedOperationSaysSo(t *testing.T) {
	r := NewRegistry()
	Register(r, "fail", func(context.Context, struct{}, Emit) (struct{}, error) {
		return struct{}{}, fmt.Errorf("do it: %w", errors.Join(errors.New("it is away"), context.Canceled))
	})
	_, err := r.Call(t.Context(), "fail", json.RawMessage("{}"), nil)
	if err == nil || err.Error() != "do it: it is away; it was stopped" {
		t.Errorf("error is %v", err)
	}
}

func TestSocketOfDeadProcessIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path, _, err := socketPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("a dead socket gives %v", err)
	}
	defer serve(t, dir, operations(nil))()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket is %v, %v", info.Mode(), err)
	}
	if _, err := Dial(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

func TestLongPathGoesToRuntimeDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	path, _, err := socketPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(path) > maxSocketPath || strings.HasPrefix(path, dir) {
		t.Fatalf("socket at %s", path)
	}
	stop := serve(t, dir, operations(nil))
	for _, runtime := range []string{os.Getenv("XDG_RUNTIME_DIR"), t.TempDir(), ""} { // of the command, as that of a unit and of a login
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		if _, err := Dial(t.Context(), dir); err != nil {
			t.Errorf("with the runtime directory %q: %v", runtime, err)
		}
	}
	stop()
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("after the daemon's end: %v", err)
	}
	defer serve(t, dir, operations(nil))() // in another runtime directory than the first
	if _, err := Dial(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// TestACopyIsNotAnsweredByTheOriginal copies a data directory with a long path as files, with the
// link to the daemon's socket: no daemon has the copy.
func TestACopyIsNotAnsweredByTheOriginal(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	base := t.TempDir()
	dir := filepath.Join(base, strings.Repeat("x", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer serve(t, dir, operations(nil))()
	target, err := os.Readlink(filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("/tmp", "minutebook-copy-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	long := filepath.Join(base, strings.Repeat("y", 100))
	for _, err := range []error{os.Mkdir(long, 0o700), os.Symlink(target, filepath.Join(long, socketName)), os.Symlink(target, filepath.Join(short, socketName))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{long, short} {
		if _, err := Dial(t.Context(), to); !errors.Is(err, ErrNoDaemon) {
			t.Errorf("the copy %s: %v", to, err)
		}
	}
	if _, err := Dial(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// FuzzCall: whatever is asked, the daemon's answer is read as the same process answers itself,
// and no other answer is taken for a result.
func FuzzCall(f *testing.F) {
	f.Add("greet", []byte(`{"Name":"Ada\u2028"}`), []byte("{\"event\":1}\n{\"result\":null}\n"))
	f.Add("fail", []byte(`{}`), []byte(`{"result":1}`))
	f.Add("no such", []byte("\x1b"), []byte("{\"error\":{\"kind\":\"query\",\"message\":\"a\"},\"result\":2}\n"))
	f.Add("greet", []byte(`{"Name":7}`), []byte("{}\n"))
	r := operations(nil)
	f.Fuzz(func(t *testing.T, name string, request, frames []byte) {
		if name == "wait" || strings.ContainsFunc(name, unicode.IsControl) {
			return // one waits until the caller has gone, others are no command's
		}
		w := httptest.NewRecorder()
		writeAnswer(t.Context(), w, r, name, request)
		got, gotErr := readFrames(name, w.Body, nil)
		want, wantErr := r.Call(t.Context(), name, request, nil)
		if string(got) != string(want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%q %q: %s, %v from the daemon; %s, %v here", name, request, got, gotErr, want, wantErr)
		}
		if wantErr != nil && strings.ContainsFunc(wantErr.Error(), unicode.IsControl) {
			t.Errorf("%q %q: %q", name, request, wantErr)
		}
		if result, err := readFrames("greet", bytes.NewReader(frames), nil); err == nil && !bytes.Contains(frames, []byte("\n")) {
			t.Errorf("%q has the result %s", frames, result)
		}
	})
}
