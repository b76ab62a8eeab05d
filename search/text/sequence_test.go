package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestJoinedTokensAreThoseOfTheWhole cuts texts with all that ties words together, whole
// and in two.
func TestJoinedTokensAreThoseOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(rapid.StringMatching(`([aBs19]|[-'’.,@_ ]|é|京|\x{0301}|ー|\x{fffd}){0,12}`), rapid.String())
		a, b := texts.Draw(t, "first"), texts.Draw(t, "second")
		if cut := rapid.IntRange(0, len(a)).Draw(t, "cut"); rapid.Bool().Draw(t, "cuts a character") {
			a = a[:cut]
		}
		got, want := Join(Tokenize(a), len(a), Tokenize(b)), Tokenize(a+" "+b)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
