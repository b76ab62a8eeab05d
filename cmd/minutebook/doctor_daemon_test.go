package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// withoutSettings returns the environment without variables of the program, such as those of the
// tests, which doctor calls unknown.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MINUTEBOOK_") })
}

// TestDoctorExitsByTheWorst has findings of each severity alone, beside some that are in order.
func TestDoctorExitsByTheWorst(t *testing.T) {
	for severity, want := range map[control.Severity]int{control.SeverityOK: 0, control.SeverityNote: 0,
		control.SeverityWarning: 30, control.SeverityError: 31} {
		for _, isJSON := range []bool{false, true} {
			var out bytes.Buffer
			err := (&Main{Stdout: &out, json: isJSON}).printFindings([]control.Finding{{Subject: "a", Severity: severity, Text: "b"}, {Subject: "c", Severity: control.SeverityOK}})
			code := 0
			if failed, ok := errors.AsType[*control.Error](err); ok {
				code = failed.ExitCode
			}
			if code != want || (err != nil) != (want != 0) || isJSON != strings.Contains(out.String(), fmt.Sprintf(`"worst":%q`, severity)) {
				t.Errorf("%s: exit code %d, %v: %s", severity, code, err, &out)
			}
		}
	}
}

// TestDoctorOfADaemonInOrder examines a daemon in which nothing needs doing, then one whose file
// has changed, until the daemon has loaded it.
func TestDoctorOfADaemonInOrder(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	write := func(more string) {
		t.Helper()
		text := fmt.Sprintf("data_dir = %q\n[backup]\nschedule = \"0 4 * * *\"\nto = %q\n%s", filepath.Join(dir, "data"), filepath.Join(dir, "backups"), more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// examine returns the warnings and errors, but for those of the disk, which is the machine's.
	examine := func() (findings []control.Finding) {
		t.Helper()
		cmd := exec.Command("minutebook", "doctor", "--offline", "--json", "-c", file)
		cmd.Env = withoutSettings()
		out, _ := cmd.Output()
		var got doctorResult
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := map[control.Severity]int{control.SeverityWarning: 30, control.SeverityError: 31}[got.Worst]
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("exit code %d: %s", code, out)
		}
		return slices.DeleteFunc(got.Findings, func(f control.Finding) bool {
			return f.Subject == "disk" || f.Severity == control.SeverityOK || f.Severity == control.SeverityNote
		})
	}
	write("")
	start(t, "serve", "--create", "-c", file)
	if found := examine(); len(found) > 0 {
		t.Errorf("nothing needs doing, and doctor finds %+v", found)
	}
	write("[sync]\nwalk = \"30 3 * * *\"\n")
	if found := examine(); len(found) != 1 || found[0].Subject != "configuration" || found[0].Severity != control.SeverityWarning ||
		!strings.Contains(found[0].Text, file+" has changed since the daemon loaded it") || !strings.HasPrefix(found[0].Remedy, "minutebook reload") {
		t.Errorf("the file has changed, and doctor finds %+v", found)
	}
	run(t, "reload", "-c", file)
	if found := examine(); len(found) > 0 {
		t.Errorf("the file is loaded, and doctor finds %+v", found)
	}
}

// TestDoctorNamesAnotherDaemon has daemons of another version, one that knows no doctor, and ones
// that were started with another file, with none, and with an older one.
func TestDoctorNamesAnotherDaemon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	runs := func(version string, c control.Configuration) func(*control.Registry) {
		return func(r *control.Registry) {
			control.Register(r, "doctor", func(context.Context, control.DoctorRequest, control.Emit) (*control.DoctorResult, error) {
				return &control.DoctorResult{Version: version}, nil
			})
			control.Register(r, "configuration", func(context.Context, struct{}, control.Emit) (control.Configuration, error) { return c, nil })
		}
	}
	for name, c := range map[string]struct {
		daemon         func(*control.Registry)
		subject        string
		text, remedies string
	}{
		"knows no doctor": {func(*control.Registry) {}, "versions", "the daemon is of an older version, which knows no doctor", "restart the daemon"},
		"another version": {runs("0.9", control.Configuration{}), "versions", "the daemon is version 0.9, this command 1.0", "restart the daemon"},
		"an older file":   {runs("1.0", control.Configuration{Path: file, SHA256: "x"}), "configuration", file + " has changed since", "minutebook reload"},
		"another file":    {runs("1.0", control.Configuration{Path: "/etc/other", SHA256: "x"}), "configuration", "runs with /etc/other", "restart the daemon"},
		"no file":         {runs("1.0", control.Configuration{}), "configuration", "runs without a configuration file", "restart the daemon"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, registry := t.TempDir(), control.NewRegistry()
			if err := os.WriteFile(file, fmt.Appendf(nil, "data_dir = %q\n", dir), 0o600); err != nil {
				t.Fatal(err)
			}
			c.daemon(registry)
			serveOperations(t, dir, registry)
			m := &Main{configPath: file, Version: "1.0", Stderr: io.Discard, Environ: []string{"MINUTEBOOK_WEB_LISTN=x"}}
			cfg, err := m.loadConfig()
			if err != nil {
				t.Fatal(err)
			}
			found, err := m.diagnose(t.Context(), cfg, control.DoctorRequest{Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found, func(f control.Finding) bool {
				return f.Subject == c.subject && f.Severity == control.SeverityWarning && strings.Contains(f.Text, c.text) && strings.Contains(f.Remedy, c.remedies)
			}) {
				t.Errorf("found %+v", found)
			}
			variable := slices.IndexFunc(found, func(f control.Finding) bool { return strings.Contains(f.Text, "MINUTEBOOK_WEB_LISTN") })
			if inOrder := slices.ContainsFunc(found, func(f control.Finding) bool { return f.Text == "it is in order" }); variable < 0 || inOrder {
				t.Errorf("a variable is unknown, and doctor finds %+v", found)
			}
		})
	}
}

// TestDoctorOfADaemonThatHangs has daemons that answer no question, and that begin an examination
// which does not end.
func TestDoctorOfADaemonThatHangs(t *testing.T) {
	hang := func(ctx context.Context, _ struct{}, _ control.Emit) (c control.Configuration, err error) {
		<-ctx.Done()
		return c, ctx.Err()
	}
	answer := func(context.Context, struct{}, control.Emit) (c control.Configuration, err error) { return c, nil }
	for name, configuration := range map[string]func(context.Context, struct{}, control.Emit) (control.Configuration, error){"at once": hang, "later": answer} {
		t.Run(name, func(t *testing.T) {
			dir, registry := t.TempDir(), control.NewRegistry()
			control.Register(registry, "configuration", configuration)
			control.Register(registry, "doctor", func(ctx context.Context, _ control.DoctorRequest, _ control.Emit) (*control.DoctorResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			serveOperations(t, dir, registry)
			m := &Main{dataDir: dir, Stderr: io.Discard, daemonTime: 200 * time.Millisecond}
			cfg, err := m.loadConfig()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			found, err := m.diagnose(ctx, cfg, control.DoctorRequest{Offline: true})
			if !slices.ContainsFunc(found, func(f control.Finding) bool {
				return f.Subject == "daemon" && f.Severity == control.SeverityError && strings.Contains(f.Text, "does not end")
			}) {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

// serveOperations answers on the socket of a data directory until the test ends.
func serveOperations(t *testing.T, dir string, registry *control.Registry) {
	t.Helper()
	listener, err := control.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- control.Serve(ctx, listener, registry) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestDoctorAsksForThePage has a page, and proxies before it, that fail and refuse: one that asks
// people who they are refuses whoever has not signed in, and is well.
func TestDoctorAsksForThePage(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	foreign := httptest.NewUnstartedServer(nil)
	foreign.Config.ErrorLog = log.New(io.Discard, "", 0) // of the client that does not trust it
	foreign.StartTLS()
	defer foreign.Close()
	another := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>Welcome to nginx!</h1>") }))
	defer another.Close()
	const proxy = "check the name, the certificate and the proxy of web.public_url"
	for _, c := range []struct {
		access       string
		status       int // 0: the address is another
		url          string
		severity     control.Severity
		text, remedy string
	}{
		{config.AccessPeople, http.StatusOK, "", control.SeverityOK, "answers", ""},
		{config.AccessPeople, http.StatusMisdirectedRequest, "", control.SeverityError, "answers 421", "let the proxy pass on the Host"},
		{config.AccessPeople, http.StatusServiceUnavailable, "", control.SeverityError, "answers 503", proxy},
		{config.AccessPeople, http.StatusNotFound, "", control.SeverityError, "answers 404", proxy},
		{config.AccessProxy, http.StatusUnauthorized, "", control.SeverityOK, "answers", ""},
		{config.AccessProxy, http.StatusMisdirectedRequest, "", control.SeverityError, "answers 421", "let the proxy pass on the Host"},
		{config.AccessProxy, http.StatusBadGateway, "", control.SeverityError, "answers 502", proxy},
		{config.AccessOwner, http.StatusForbidden, "", control.SeverityError, "answers 403", "remove the proxy"},
		{config.AccessOwner, http.StatusMisdirectedRequest, "", control.SeverityError, "answers 421", "remove the proxy"},
		{config.AccessPeople, 0, gone.URL, control.SeverityError, "it does not answer at its public address: ", proxy},
		{config.AccessPeople, 0, another.URL, control.SeverityError, "something else than Minutebook answers at " + another.URL, "let the name and the proxy of web.public_url lead to web.listen"},
		{config.AccessOwner, 0, another.URL, control.SeverityError, "something else than Minutebook answers", "let the name and the proxy"},
		{config.AccessProxy, 0, another.URL, control.SeverityOK, "answers", ""}, // where people sign in
		{config.AccessPeople, 0, foreign.URL, control.SeverityError, "its certificate is from an authority that this machine does not know", proxy},
	} {
		cfg := config.Default()
		cfg.Web.Access, cfg.Web.PublicURL = c.access, c.url
		if c.status > 0 {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, "<title>Sign in · Minutebook</title>")
			}))
			defer server.Close()
			cfg.Web.PublicURL = server.URL
		}
		found := examinePage(t.Context(), &cfg)
		if len(found) != 1 || found[0].Severity != c.severity || !strings.Contains(found[0].Text, c.text) || !strings.HasPrefix(found[0].Remedy, c.remedy) || c.remedy == "" && found[0].Remedy != "" {
			t.Errorf("%+v: %+v", c, found)
		}
	}
}

// TestDoctorAsksForThePageWithoutAProxy names a proxy for outgoing calls, which may know no
// address of this network.
func TestDoctorAsksForThePageWithoutAProxy(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the proxy is asked for %s", r.Host) }))
	defer proxy.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.invalid\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", file)
	cmd := exec.Command("minutebook", "doctor", "-c", file)
	cmd.Env = append(withoutSettings(), "HTTPS_PROXY="+proxy.URL)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "it does not answer at its public address: ") {
		t.Errorf("%v: %s", err, out)
	}
}
