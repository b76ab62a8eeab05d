package api

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// FuzzCodeFrom: of the address that somebody has pasted, the code is taken that stands in it,
// where it is of this attempt, and a refusal is told without characters that nobody sees.
func FuzzCodeFrom(f *testing.F) {
	f.Add("https://minutes.example/oauth?code=a+b&state=s\n", "s")
	f.Add("  ?state=s&state=t&code=&code=x", "s")
	f.Add("https://minutes.example/oauth?error=access_denied&error_description=%1b%5B2J%e2%80%ae&state=s&code=x", "s")
	f.Add("minutes.example/oauth?code=x&state=", "")
	f.Add("https://[::1/oauth?code=x;state=s#code=y&state=s", "s")
	f.Fuzz(func(t *testing.T, address, state string) {
		code, err := CodeFrom(address, state)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) || code != "" {
				t.Errorf("%q: %q, %q", address, code, err)
			}
			return
		}
		address, _, _ = strings.Cut(strings.TrimSpace(address), "#")
		_, query, _ := strings.Cut(address, "?")
		if q, _ := url.ParseQuery(query); code == "" || q.Get("code") != code || q.Get("state") != state || q.Get("error") != "" {
			t.Errorf("%q of the attempt %q has the code %q", address, state, code)
		}
	})
}
