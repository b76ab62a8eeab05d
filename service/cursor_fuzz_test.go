package service

import (
	"slices"
	"testing"

	"minutebook/internal/signature"
)

// FuzzCursor: a cursor opens as it was sealed, for the same list, caller and filters, and
// nothing else opens.
func FuzzCursor(f *testing.F) {
	f.Add("2026-01-01", "17", "abc.def")
	f.Add("\x00", "%zz", ".")
	f.Add("", "a b+c", "MTc.x")
	c := cursors{key: signature.Key("0123456789abcdef0123456789abcdef")}
	f.Fuzz(func(t *testing.T, a, b, forged string) {
		sealed := c.seal("meetings", "ann", "q", a, b)
		got, err := c.open(sealed, "meetings", "ann", "q", 2)
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q, %q: %q, %v", a, b, got, err)
		}
		for _, other := range [][3]string{{"users", "ann", "q"}, {"meetings", "bob", "q"}, {"meetings", "ann", "r"}} {
			if _, err := c.open(sealed, other[0], other[1], other[2], 2); err == nil {
				t.Errorf("it opens for %q", other)
			}
		}
		if forged == sealed {
			return
		}
		if got, err := c.open(forged, "meetings", "ann", "q", 2); err == nil {
			t.Errorf("%q opens as %q", forged, got)
		}
	})
}
