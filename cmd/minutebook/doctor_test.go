package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestDoctorTriesEverything examines a daemon with one account that works and one with
// a wrong key, and whose public address works.
func TestDoctorTriesEverything(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir())
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir, inbound := t.TempDir(), freePort(t)
	file := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[receiver]\nlisten = %q\npublic_url = \"http://%s\"\n", filepath.Join(dir, "data"), inbound, inbound)
	for name, key := range map[string]string{"ada": key, "bob": "wrong"} {
		text += fmt.Sprintf("[[accounts]]\nname = %q\nbase_url = \"%s/external/v1\"\napi_key = %q\nwebhook_secrets = [%q]\n", name, upstream.url, key, firstSecret)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "serve", "--create", "-c", file)
	cmd := exec.Command("minutebook", "doctor", "--json", "-c", file)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != exitDoctorError {
		t.Fatalf("exit code %d, %v: %s", cmd.ProcessState.ExitCode(), err, out)
	}
	var got struct{ Findings []control.Finding }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []control.Finding{
		{Subject: "account ada", Severity: "ok"}, {Subject: "account bob", Severity: "error"}, {Subject: "clock", Severity: "ok"},
		{Subject: "deliveries", Severity: "ok"}, {Subject: "archive", Severity: "ok"}, {Subject: "versions", Severity: "ok"}, {Subject: "configuration", Severity: "ok"},
	} {
		if !slices.ContainsFunc(got.Findings, func(f control.Finding) bool { return f.Subject == want.Subject && f.Severity == want.Severity }) {
			t.Errorf("no finding %+v among %s", want, out)
		}
	}
	for _, f := range got.Findings {
		if f.Remedy == "" && (f.Severity == control.SeverityWarning || f.Severity == control.SeverityError) {
			t.Errorf("a finding without a remedy: %+v", f)
		}
	}
}
