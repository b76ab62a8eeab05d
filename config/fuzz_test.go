package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// FuzzDecode: no file makes the decoder panic, and no error shows an API key that stands
// beside the mistake.
func FuzzDecode(f *testing.F) {
	f.Add("data_dir = 7", "name = 'a'")
	f.Add("[web]\nlisten = ", "base_url = \"x\"\nunknown = 1")
	f.Add("a.b.c", "webhook_secrets = [1, {}]\n[accounts.oauth]\nclient_secret = 3")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "mbk_0123456789abcdef0123456789abcdef"
		_, err := decode([]byte(before + "\n[[accounts]]\napi_key = \"" + secret + "\"\n" + after))
		if err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(before+after, secret) {
			t.Errorf("the error shows the key: %v", err)
		}
	})
}

// FuzzLoad: a configuration is refused without its secrets and, but for the ends of lines,
// without characters that nobody sees; one that is accepted is shown without its secrets.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "[sync]\nwalk = \"61 * * * *\"\ntime_zone = \"\\u001b[2J\"", "[web]\nlisten = \"0.0.0.0:1\"\npublic_url = \"https://a.example/\\u0007\"", "[media]\nurl = \"s3://b/\\n\"",
		"[[notify.hooks]]\nname = \"a\"\nformat = \"webhook\"\nurl = \"https://x.example\"\nsecret = \"x\"", "[backup]\nto = \"s3://b/x\"\nschedule = \"@daily\"\nprove = \"\\t\"", "[[retention.rules]]\nmedia_after_days = 99999",
		"[import]\nwatch = \"in\"\nowner = \"A <a@b.example>\"\nvisible_to = [\"team:\\u202e\"]", "[web.oidc]\nissuer = \"http://x\"\nclient_id = \"a\""} {
		f.Add(s, "MINUTEBOOK_WEB_LISTEN", "127.0.0.1:\x01")
		f.Add(s, "MINUTEBOOK_ACCOUNT_ADA_WEBHOOK_SECRETS", "whsec_x,\x7f")
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		const secret = "mbk_0123456789abcdef0123456789abcdef"
		if strings.Contains(text+value, "/") && (strings.Contains(text, "_file") || strings.Contains(name, "_FILE")) {
			return // which would read any file of the machine
		}
		whole := account + "api_key = \"" + secret + "\"\n" + text
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		environ := []string{name + "=" + value}
		settings, err := Describe(path, "", environ)
		shown := fmt.Sprint(settings)
		if err != nil {
			shown = err.Error()
			for line := range strings.SplitSeq(shown, "\n") {
				if strings.ContainsFunc(line, unicode.IsControl) {
					t.Errorf("%q %q: %q", text, environ, line)
				}
			}
		}
		if strings.Contains(shown, secret) && !strings.Contains(text+name+value, secret) {
			t.Errorf("%q %q shows the key: %s", text, environ, shown)
		}
	})
}
