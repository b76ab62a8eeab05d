package api

import "strings"

// FoldEmail returns the form in which addresses are kept and compared.
func FoldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
