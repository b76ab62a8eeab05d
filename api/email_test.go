package api

import "testing"

func TestFoldEmail(t *testing.T) {
	for email, want := range map[string]string{
		" Ann+X@Example.COM\t":  "ann+x@example.com",
		"\u212Aate@example.com": "\u212Aate@example.com", // the Kelvin sign, whose small letter is k
		"M\u0130ke@example.com": "m\u0130ke@example.com", // a capital I with a dot, whose small letter is i
		"J\u00D6rg@example.com": "j\u00D6rg@example.com", // as SQLite's lower keeps it
		"":                      "",
	} {
		if got := FoldEmail(email); got != want {
			t.Errorf("FoldEmail(%q) = %q, want %q", email, got, want)
		}
	}
}
