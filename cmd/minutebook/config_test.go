package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigCheckRefusesUnusableSettings checks configurations of which one part of the
// daemon can make no use. The daemon ends with the same exit code, after which systemd does
// not start it again.
func TestConfigCheckRefusesUnusableSettings(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"webhook secret 1 of account \"ada\": it is not base64":     "[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"k\"\nwebhook_secrets = [\"whsec_a\"]\n",
		"webhook secret 2 of account \"ada\": it has 1 bytes":       "[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"k\"\nwebhook_secrets = [\"" + firstSecret + "\", \"whsec_AA==\"]\n",
		"media.url: is none of file:, file:///path and s3://bucket": "[media]\nurl = \"https://s3.example/x\"\n",
		"web.accounts: a key has 64 hexadecimal digits":             "[web]\naccess = \"people\"\npublic_url = \"http://localhost:8377\"\n[web.accounts]\nkey_file = \"keys\"\n",
		"web.public_url: its path begins with /meetings":            "[web]\naccess = \"people\"\npublic_url = \"http://localhost:8377/meetings/here\"\n",
		"web.public_url: its path begins with /login":               "[web]\naccess = \"proxy\"\nproxy_header = \"Remote-User\"\nproxy_networks = [\"127.0.0.1/32\"]\npublic_url = \"http://localhost:8377/login\"\n",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "config.toml")
			for path, text := range map[string]string{file: "data_dir = \"data\"\n[receiver]\nlisten = \"127.0.0.1:0\"\n[sync]\n" + text, filepath.Join(dir, "keys"): "00\n"} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if line := misuse(t, "config", "check", "-c", file); !strings.Contains(line, want) {
				t.Fatalf("config check says %q", line) // and serve would go on
			}
			var errs strings.Builder
			m := &Main{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &errs, Version: "test", Environ: []string{"MINUTEBOOK_WEB_LISTEN=127.0.0.1:0"}}
			if code := m.Run(t.Context(), []string{"serve", "--create", "-c", file}); code != 2 || !strings.Contains(errs.String(), want) {
				t.Errorf("serve ends with %d: %s", code, errs.String())
			}
		})
	}
}
