package fault

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheGrammarOfFaults(t *testing.T) {
	for spec, wrong := range map[string]string{
		"": "", " ": "", "seed=7": "", "seed=7,429=0.02, late=0.1": "", "502=1,503=0": "", "seed=-3,reset=1e-3": "",
		"429": "name=rate", "429=": "from 0 to 1", "429=2": "from 0 to 1", "429=-0.1": "from 0 to 1", "429=NaN": "from 0 to 1",
		"latte=0.1": "unknown", "seed=x": "integer", ",": "name=rate",
	} {
		_, err := Parse(spec)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%q: %v, want %q", spec, err, wrong)
		}
	}
}

func TestFaultsAreTheSameForTheSameSeed(t *testing.T) {
	draw := func(seed int) string {
		f, err := Parse(fmt.Sprintf("429=0.3,late=0.5,seed=%d", seed))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for i := range 200 {
			fmt.Fprint(&out, f.Roll(TooMany, fmt.Sprint(i%5)), f.isChosen(Late, fmt.Sprint(i)), " ")
		}
		return out.String()
	}
	if first, again := draw(7), draw(7); first != again {
		t.Error("one seed drew twice differently")
	}
	if draw(7) == draw(8) {
		t.Error("two seeds drew alike")
	}
	f, err := Parse("429=0.25")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 10_000 {
		if f.Roll(TooMany, "x") {
			n++
		}
	}
	if n < 2300 || n > 2700 {
		t.Errorf("%d of 10,000 at a rate of 0.25", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("seed=7,429=0.02,late=0.1")
	f.Fuzz(func(t *testing.T, spec string) {
		parsed, err := Parse(spec)
		if err != nil {
			return
		}
		for name, rate := range parsed.rates {
			if !(rate >= 0 && rate <= 1) {
				t.Errorf("%s has rate %v", name, rate)
			}
		}
	})
}
