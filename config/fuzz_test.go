package config

import (
	"strings"
	"testing"
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
