package text

import (
	"strings"
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
		got, want := AppendAt(Tokenize(a), len(a)+1, Tokenize(b)), Tokenize(a+" "+b)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(Token{})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSmallLettersAreReadAsCapitals compares the reading of plain words, which takes a
// shorter way, with that of the same words in capitals.
func TestSmallLettersAreReadAsCapitals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.StringMatching(`([a-z]{1,3}|[a-z]{60,70}|[1.]|[-'’,@_ !]|é|京){0,12}`).Draw(t, "text")
		diff := cmp.Diff(Tokenize(strings.ToUpper(small)), Tokenize(small), cmpopts.EquateEmpty(), cmpopts.EquateComparable(Token{}))
		if diff != "" {
			t.Error(diff)
		}
	})
}

// TestSequenceIsReadAnew reads texts one after the other into one sequence.
func TestSequenceIsReadAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sequence
		for _, passage := range rapid.SliceOfN(rapid.StringMatching(`([ab]|[-'@_. ]|京){0,15}`), 1, 4).Draw(t, "texts") {
			s.Read(passage)
			want := NewSequence(Tokenize(passage))
			if diff := cmp.Diff(want, s, cmp.AllowUnexported(Sequence{}), cmpopts.EquateEmpty(), cmpopts.EquateComparable(Token{})); diff != "" {
				t.Errorf("%q: %s", passage, diff)
			}
		}
	})
}
