package merge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func TestDiffAlignsWhatIsEqual(t *testing.T) {
	testrun.SkipUnderRace(t)
	entry := func(n int) string { return fmt.Sprintf(`{"text":"t%d","timestamp":"00:00:%02d"}`, n, n) }
	var values []string
	for n := range 50 {
		values = append(values, entry(n))
	}
	list := func(entries ...string) json.RawMessage {
		return json.RawMessage("[" + strings.Join(entries, ", ") + "]")
	}
	old := list(values...)
	edited := append([]string{entry(99)}, values...)
	edited[21] = `{"timestamp":"00:00:20","text":"corrected"}`
	edited = append(edited[:30], edited[31:]...)
	var got []string
	for _, d := range Diff("transcript", old, list(edited...)) {
		got = append(got, d.String())
	}
	want := []string{
		`+ transcript[0]: {"text":"t99","timestamp":"00:00:99"}`,
		`~ transcript[21].text: "t20" → "corrected"`,
		`- transcript[29]: {"text":"t29","timestamp":"00:00:29"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, d := range DiffParts(map[api.Part]json.RawMessage{}, map[api.Part]json.RawMessage{api.PartSummary: json.RawMessage(" null")}) {
		t.Errorf("a part that is null for one that is absent counts as %+v", d)
	}
	if d := Diff("x", json.RawMessage(`{"a": 1, "b": 2}`), json.RawMessage(`{"b":2,"a":1}`)); d != nil {
		t.Errorf("the same in another order differs: %v", d)
	}
}

// TestDiffSaysWhatToDo: equal lists have no difference, others have one, and
// not more than replacing everything would.
func TestDiffSaysWhatToDo(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) []int { return rapid.SliceOfN(rapid.IntRange(0, 5), 0, 8).Draw(rt, name) }
		x, y := draw("x"), draw("y")
		rawX, _ := json.Marshal(x)
		rawY, _ := json.Marshal(y)
		diffs := Diff("l", rawX, rawY)
		if equal := cmp.Equal(x, y); equal != (len(diffs) == 0) {
			rt.Fatalf("%s and %s: %v", rawX, rawY, diffs)
		}
		removed, added := 0, 0
		for _, d := range diffs {
			if d.New == nil {
				removed++
			}
			if d.Old == nil {
				added++
			}
		}
		if len(diffs) > len(x)+len(y) || added-removed != len(y)-len(x) {
			rt.Fatalf("%s and %s: %v", rawX, rawY, diffs)
		}
	})
}
