package api

import "strings"

// FoldEmail returns the form in which addresses are kept and compared: trimmed, with
// the letters A to Z small, as SQLite's lower makes them. Other letters stay as they
// are: Unicode has ones whose small letter is an ASCII one, such as the Kelvin sign,
// and another mailbox would be taken for the one that looks alike.
func FoldEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(email))
}
