package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestSetupTriesTheService sets up an archive by the address that `service` prints,
// which is not yet that of its interface.
func TestSetupTriesTheService(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir())
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir := t.TempDir()
	file, keyFile := filepath.Join(dir, "config.toml"), filepath.Join(dir, "given.key")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(code int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command("minutebook", args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
			t.Errorf("minutebook %s: exit code %d, %v, %s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), err, out)
		}
	}
	write(keyFile, "wrong")
	fails(1, "refuses the key", "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile)
	fails(1, "does not answer", "setup", "-c", file, "--base-url", "http://127.0.0.1:1", "--api-key-file", keyFile)
	fails(2, "--base-url and --api-key-file are needed", "setup", "-c", file)
	for want, h := range map[string]http.HandlerFunc{
		"is no such service: GET /meeting_types: the answer is not of this interface": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>hello</html>")
		},
		"is no such service: GET /meeting_types: 404": http.NotFound,
		"does not work at present: reach http":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"redirects are not followed":                  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
	} {
		other := httptest.NewServer(h)
		fails(1, want, "setup", "-c", file, "--base-url", other.URL, "--api-key-file", keyFile)
		other.Close()
	}
	write(keyFile, key)
	run(t, "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile, "--account", "ada", "--public-url", "https://minutes.example", "--sync")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), upstream.url+servicePath) || strings.Contains(string(text), key) {
		t.Errorf("the configuration is %s, %v", text, err)
	}
	fails(2, "is there already", "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile)
	if s := runJSON[control.StatusResult](t, "status", "-c", file); len(s.Accounts) != 1 || !s.Accounts[0].Backfilled {
		t.Errorf("the first read leaves %+v", s.Accounts)
	}

	// An empty archive's wrong address is told by init, and corrected without --moved.
	data := filepath.Join(dir, "other")
	write(file, accountConfig(data, "http://127.0.0.1:1/external/v1", key))
	run(t, "init", "-c", file)
	run(t, "status", "-c", file)
	write(file, accountConfig(data, upstream.url, key))
	fails(2, "write that", "init", "-c", file)
	write(file, accountConfig(data, upstream.url+servicePath, key))
	run(t, "sync", "-c", file)
}

// TestSetupRefusesNonsense gives wrong answers: each is named, exits with 2, and
// leaves nothing that would stand in the way of the right ones.
func TestSetupRefusesNonsense(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"good": "mbk_key\n", "empty": " \n", "two lines": "mbk_key\nmore", "bytes": "\x00\x01\xff"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "config.toml")
	set := func(args ...string) ([]byte, int) {
		cmd := exec.Command("minutebook", append([]string{"setup", "--offline", "-c", file, "--base-url", "https://s.example"}, args...)...)
		out, _ := cmd.CombinedOutput()
		return out, cmd.ProcessState.ExitCode()
	}
	good := []string{"--api-key-file", filepath.Join(dir, "good")}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"empty key":     {[]string{"--api-key-file", filepath.Join(dir, "empty")}, "empty"},
		"two keys":      {[]string{"--api-key-file", filepath.Join(dir, "two lines")}, "one line"},
		"no key":        {[]string{"--api-key-file", filepath.Join(dir, "bytes")}, "one line"},
		"no address":    {append(good, "--email", "nobody"), "--email"},
		"with a name":   {append(good, "--email", "Ada <ada@s.example>"), "--email"},
		"no scheme":     {append(good, "--base-url", "s.example:443"), "want an address such as https://"},
		"no folder":     {append(good, "-c", filepath.Join(dir, "nowhere", "c.toml")), "create it: mkdir -p"},
		"path as name":  {append(good, "--account", "../x"), "small letters"},
		"no directory":  {append(good, "--data-dir", filepath.Join(dir, "good", "x")), "not a directory"},
		"no port":       {append(good, "--listen", "8377"), "web.listen"},
		"no TLS":        {append(good, "--receiver-url", "http://hooks.example"), "receiver.public_url: is no https address"},
		"no service":    {append(good, "--sync"), "leave out --offline"},
		"strange names": {append(good, "--public-url", "javascript:alert(1)"), "web.public_url"},

		"no page for others":  {append(good, "--access", "people"), "web.public_url: is missing"},
		"owner for others":    {append(good, "--access", "owner", "--public-url", "https://m.example"), "web.public_url: is for others"},
		"no such access":      {append(good, "--access", "peopel", "--public-url", "https://m.example"), "did you mean people?"},
		"no header":           {append(good, "--access", "proxy", "--public-url", "https://m.example"), "web.proxy_header: is missing"},
		"no networks":         {append(good, "--proxy-header", "Remote-Email", "--public-url", "https://m.example"), "web.proxy_networks: is missing"},
		"everybody's header":  {append(good, "--proxy-header", "Cookie", "--public-url", "https://m.example"), "set by every browser"},
		"header of no proxy":  {append(good, "--proxy-header", "Remote-Email", "--access", "people"), "count only with --access proxy"},
		"proxy for the owner": {append(good, "--proxy-networks", "127.0.0.1/32", "--access", "owner"), "count only with --access proxy"},
	} {
		if out, code := set(c.args...); code != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
			t.Errorf("%s: it leaves %v, %v", name, left, err)
		}
	}
	if out, code := set(good...); code != 0 {
		t.Errorf("the right answers: exit code %d: %s", code, out)
	}
}

// TestTwoSetupsAtOnce runs several setups with the same file at once: one writes it, and none
// of the others takes it away.
func TestTwoSetupsAtOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for range 3 {
		dir := t.TempDir()
		key, file := filepath.Join(dir, "key"), filepath.Join(dir, "config.toml")
		if err := os.WriteFile(key, []byte("mbk_key\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		for range 4 {
			go func() {
				done <- exec.Command("minutebook", "setup", "--offline", "-c", file, "--base-url", "https://s.example", "--api-key-file", key).Run() == nil
			}()
		}
		written := 0
		for range 4 {
			if <-done {
				written++
			}
		}
		if _, err := os.Stat(file); written != 1 || err != nil {
			t.Errorf("%d say that they wrote it, %v", written, err)
		}
	}
}

func accountConfig(data, base, key string) string {
	return fmt.Sprintf("data_dir = %q\n[[accounts]]\nname = \"ada\"\nbase_url = %q\napi_key = %q\n", data, base, key)
}

// TestSetupTakesTheGeneralOptions has the data directory and the file by the options and
// variables that every command has.
func TestSetupTakesTheGeneralOptions(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, c := range []struct {
		args    []string
		environ []string
		file    string
		data    string
		code    int
	}{
		{nil, nil, "config.toml", "data", 0},
		{[]string{"--data", "other"}, nil, "config.toml", "other", 0},
		{[]string{"--data", "other", "--data-dir", "data"}, nil, "config.toml", "data", 2},
		{[]string{"--data", "other"}, []string{"MINUTEBOOK_DATA_DIR=third"}, "config.toml", "other", 0},
		{nil, []string{"MINUTEBOOK_DATA_DIR=third"}, "config.toml", "third", 0},
		{[]string{"--data", "other"}, []string{"MINUTEBOOK_CONFIG=sub/named.toml"}, "sub/named.toml", "other", 0},
		{nil, []string{"MINUTEBOOK_CONFIG=sub/named.toml"}, "sub/named.toml", "sub/data", 0},
		{[]string{"-c", "here.toml"}, []string{"MINUTEBOOK_CONFIG=sub/named.toml"}, "here.toml", "data", 0},
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		for _, err := range []error{os.Mkdir("sub", 0o700), os.WriteFile("key", []byte("mbk_key\n"), 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		var errs strings.Builder
		m := &Main{Stdin: strings.NewReader(""), Stdout: &errs, Stderr: &errs, Environ: c.environ}
		code := m.Run(t.Context(), append([]string{"setup", "--offline", "--base-url", "https://s.example", "--api-key-file", "key"}, c.args...))
		if code != c.code {
			t.Errorf("%+v: exit code %d, %s", c, code, errs.String())
		}
		if _, err := os.Stat(filepath.Join(c.data, "archive.db")); (err == nil) != (c.code == 0) {
			t.Errorf("%+v: the archive: %v, %s", c, err, errs.String())
		}
		if c.code != 0 {
			continue
		}
		if found, err := config.FindDataDir(c.file, "", nil); err != nil || found != filepath.Join(dir, c.data) {
			t.Errorf("%+v: the file names %s, %v", c, found, err)
		}
	}
}

// TestSetupForTheInstalledService sets up the service of the packages as root: its user can
// read the files, and its archive is that of the unit, beside a running daemon too.
func TestSetupForTheInstalledService(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, running := range []bool{false, true} {
		root, keys := t.TempDir(), t.TempDir()
		data, file, key := filepath.Join(root, installedData), filepath.Join(root, installedConfig), filepath.Join(keys, "key")
		err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(key, []byte("mbk_key\n"), 0o600))
		isRoot := os.Geteuid() == 0
		if isRoot {
			err = errors.Join(err, os.Chown(data, 1234, 4321))
		}
		if err != nil {
			t.Fatal(err)
		}
		if running {
			start(t, "serve", "--create", "--data", data)
		}
		var out, errs strings.Builder
		m := &Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, root: root}
		if code := m.Run(t.Context(), []string{"setup", "--offline", "--base-url", "https://s.example", "--api-key-file", key, "-c", file}); code != 0 {
			t.Errorf("running %v: exit code %d, %s", running, code, errs.String())
			continue
		}
		if !strings.Contains(out.String(), "next: systemctl restart minutebook\n") {
			t.Errorf("running %v: setup says %s", running, out.String())
		}
		if found, err := config.FindDataDir(file, "", nil); err != nil || found != data {
			t.Errorf("running %v: the file names %s, %v", running, found, err)
		}
		for _, path := range []string{file, filepath.Join(filepath.Dir(file), "me.key")} {
			info, err := os.Stat(path)
			if err != nil {
				t.Error(err)
				continue
			}
			if st := info.Sys().(*syscall.Stat_t); isRoot && (info.Mode() != 0o640 || st.Gid != 4321) {
				t.Errorf("running %v: %s is %v of the group %d", running, path, info.Mode(), st.Gid)
			}
		}
	}
}
