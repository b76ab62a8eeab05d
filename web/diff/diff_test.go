package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"we ship on Friday", "we ship on Monday", "we ship on -Friday-+Monday+"},
		{"one\ntwo\nthree\n", "one\nthree\n", "one\n-two\n-three\n"},
		{"", "new", "+new+"},
		{"old", "", "-old-"},
		{"same", "same", "same"},
		{"", "", ""},
		{"予算は十円", "予算は百円", "予算は-十-+百+円"},
	} {
		var got strings.Builder
		for _, p := range Words(c.before, c.after) {
			sign := map[Change]string{Removed: "-", Added: "+"}[p.Change]
			got.WriteString(sign + p.Text + sign)
		}
		if got.String() != c.want {
			t.Errorf("%q to %q: %q, want %q", c.before, c.after, got.String(), c.want)
		}
	}
}

// join returns the pieces that stand in a text.
func join(pieces []Piece, change Change) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Change == Same || p.Change == change {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestPiecesMakeBothTexts(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "word", " ", "  ", "\n", "予", "\u00a0", "\xff"}), 0, 40).Draw(t, "units"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		pieces := Words(before, after)
		if join(pieces, Removed) != before || join(pieces, Added) != after {
			t.Fatalf("%q to %q: %q", before, after, pieces)
		}
		if before == after && slices.ContainsFunc(pieces, func(p Piece) bool { return p.Change != Same }) {
			t.Fatalf("a text differs from itself: %q", pieces)
		}
	})
}

// TestMyersIsShortest compares the number of edits with the one by the longest common
// subsequence.
func TestMyersIsShortest(t *testing.T) {
	units := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		before, after := units.Draw(t, "before"), units.Draw(t, "after")
		common := make([][]int, len(before)+1)
		common[0] = make([]int, len(after)+1)
		for i := range before {
			common[i+1] = make([]int, len(after)+1)
			for j := range after {
				common[i+1][j+1] = max(common[i][j+1], common[i+1][j])
				if before[i] == after[j] {
					common[i+1][j+1] = common[i][j] + 1
				}
			}
		}
		edits := 0
		for _, h := range myers(before, after) {
			edits += len(h.removed) + len(h.added)
		}
		if want := len(before) + len(after) - 2*common[len(before)][len(after)]; edits != want {
			t.Fatalf("%v to %v: %d edits, want %d", before, after, edits, want)
		}
	})
}

func TestHugeDifferencesAreBounded(t *testing.T) {
	before, after := strings.Repeat("a ", 5000), strings.Repeat("b ", 5000)
	if pieces := Words(before, after); join(pieces, Removed) != before || join(pieces, Added) != after {
		t.Error("the pieces do not make the texts")
	}
}
