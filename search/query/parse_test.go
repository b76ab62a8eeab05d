package query

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestParsePrints(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  budget   talks ", "budget talks"},
		{`"exact words" more`, `"exact words" more`},
		{`"  two   spaces "`, `"two spaces"`},
		{`“curly quotes”`, `"curly quotes"`},
		{`say "hello`, "say hello"},
		{`5" screen`, "5 screen"},
		{"a OR b c", "a OR b c"},
		{"a (b OR c) d", "a b OR c d"},
		{"(a b) OR c", "(a b) OR c"},
		{"OR", "(OR)"},
		{"a OR", "a (OR)"},
		{"-draft -(a b)", "-draft -(a b)"},
		{"- x --y", "x -y"},
		{"bud* fuzy~ *", "bud* fuzy~"},
		{"Speaker:Anna recorded_by:bob", "speaker:Anna recorded-by:bob"},
		{`speaker:"Anna Lee"`, `speaker:"Anna Lee"`},
		{`speaker:"Anna Lee`, `speaker:Anna Lee`},
		{"https://a.example/x 12:30 ABC-123", "https://a.example/x 12:30 ABC-123"},
		{"sort:date budget", "budget sort:date"},
		{"after:2024-03 before:2025 last:7d longer:1h30m", "after:2024-03 before:2025 last:7d longer:1h30m"},
		{`budget & talks 🙂 "…" -🙂 \`, "budget talks"},
		{"🙂 type:Sales", "type:Sales"},
		{"input/out* ports/~ e-mial~ input/output~ 会議室~", "input/out* ports/~ e-mial~ input/output~ 会議室~"},
		{"ـ.ـ budget", "budget"},
		{`"&" OR budget`, "budget"},
		{"🙂 OR (?) OR budget OR talks", "budget OR talks"},
		{`(🙂 OR budget) plan`, "budget plan"},
		{"🙂 OR", "(OR)"},
		{"& OR budget", "budget"},
		{"plan (* OR budget)", "plan budget"},
		{"plan & OR budget", "plan OR budget"},
		{"(& budget) OR plan", "budget OR plan"},
		{"& OR", "(OR)"},
		{`צה"ל ארה"ב`, `צה"ל ארה"ב`},
		{`"דו"ח צה"ל" x`, `"דו"ח צה"ל" x`},
		{`ב"ארץ נהדרת"`, `ב "ארץ נהדרת"`},
		{`ראינו ב„ארץ נהדרת“ x`, `ראינו ב "ארץ נהדרת" x`},
		{`צה"ל ב"ארץ נהדרת", x`, `צה"ל ב "ארץ נהדרת" x`},
		{`(וב"צה"ל היום" x)`, `וב "צה"ל היום" x`},
		{`מ"פים ו"שלום עולם"`, `מ"פים ו "שלום עולם"`},
		{`מ"פים "שלום עולם"`, `מ"פים "שלום עולם"`},
		{`מ"פים -"שלום עולם"`, `מ"פים -"שלום עולם"`},
		{`"מ"פים בצה"ל" x`, `"מ"פים בצה"ל" x`},
		{`דו"חות של צה"ל"`, `דו"חות של צה"ל`},
		{`ה"ארץ" x`, `ה"ארץ x`},
		{`ב"ארץ נהדרת`, `ב"ארץ נהדרת`},
		{`title:ארה"ב`, `title:"ארה""ב"`},
		{`5"x "שלום עולם"`, `5 "x" שלום עולם`},
	} {
		q, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got := q.String(); got != c.want {
			t.Errorf("Parse(%q) prints %q, want %q", c.in, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		in   string
		pos  int
		says string
	}{
		{"budget speker:anna", 7, "speaker:anna"},
		{"has:vidoe", 4, "video"},
		{"(a b", 0, "closed"},
		{"a b)", 3, "closes nothing"},
		{"after:soon", 6, "2026-03"},
		{"🙂", 0, "no letter or digit"},
		{`"`, 0, "no letter or digit"},
		{"ـ_ـ", 0, "no letter or digit"}, // folding leaves nothing of it
		{`"ـ-ـ ـ"`, 0, "no letter or digit"},
		{"()", 0, "no letter or digit"},
		{"budget title:🙂", 13, "no letter or digit"},
		{"speaker:", 0, "no value"},
		{"type:", 0, "write type:… for “of this meeting type”"},
		{"is:", 0, "It knows external, internal"},
		{"longer:much", 7, "30m"},
		{"-in:title x", 1, "negated"},
		{"a (sort:date b)", 3, "whole answer"},
		{"id:12x", 3, "number"},
		{"id:9223372036854775808", 3, "too long"},
		{"on:7d", 3, "2026-03"},
		{"möße speker:anna", 7, "at character 6:"},
		{strings.Repeat("(", 40), 32, "deep"},
		{strings.Repeat("x", 5000), 4096, "longer than 4096 bytes"},
		{strings.Repeat("x ", 200), 256, "parts"},
		{strings.Repeat("-(x) ", 200), 642, "parts"},
	} {
		_, err := Parse(c.in)
		var qe *Error
		if !errors.As(err, &qe) {
			t.Errorf("Parse(%q) = %v, want a QueryError", c.in, err)
			continue
		}
		if qe.Pos != c.pos || !strings.Contains(qe.Error(), c.says) {
			t.Errorf("Parse(%q) = %d %q, want %d and %q", c.in, qe.Pos, qe.Error(), c.pos, c.says)
		}
	}
}

// TestSignsAreNoParts parses as many parts as a query may have, each with a minus and parentheses.
func TestSignsAreNoParts(t *testing.T) {
	q, err := Parse(strings.Repeat("-(a OR b) ", maxLeaves/2))
	if err != nil || len(q.Parts()) != maxLeaves/2 {
		t.Error(err)
	}
}

// stable checks that a query that parses prints as something that parses to
// the same tree.
func stable(in string) error {
	q, err := Parse(in)
	if err != nil {
		var qe *Error
		if !errors.As(err, &qe) || qe.Pos < 0 || qe.Pos > len(in) {
			return err
		}
		return nil
	}
	printed := q.String()
	again, err := Parse(printed)
	if err != nil {
		if len(printed) > maxQueryBytes {
			return nil
		}
		return errors.New("printed as " + printed + ": " + err.Error())
	}
	noPos := cmpopts.IgnoreFields
	if diff := cmp.Diff(q, again, noPos(Word{}, "Pos"), noPos(Phrase{}, "Pos"), noPos(Filter{}, "Pos")); diff != "" {
		return errors.New("printed as " + printed + ": " + diff)
	}
	return nil
}

func TestPrintingIsStable(t *testing.T) {
	for _, in := range []string{"-(OR)", "a (OR) b", "(|) OR (OR)", "OR*"} {
		if err := stable(in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
	piece := rapid.SampledFrom([]string{"a", "budget", "OR", "AND", "(", ")", "-", `"`, " ", " ", "*", "~", ":", "speaker:", "in:title",
		"has:video", "sort:date", "on:2024", "“", "é", "会議", "\x00", "\xff", "x-1", "|", "--", `"a b"`, "NOT", "title:\"", "last:7d", "ה", "ל", "מ\"פים", "ב\"", "?"})
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			in := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
			if err := stable(in); err != nil {
				t.Fatalf("%q: %v", in, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", `a "b c" -d OR (e f*) g~ speaker:"h i" sort:date`, "((((", `"`, "in:", "\xff:\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if err := stable(in); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
	})
}

// TestASignAfterAMinusNegatesNothing has stray signs between a minus and the next word.
func TestASignAfterAMinusNegatesNothing(t *testing.T) {
	for query, want := range map[string]string{"budget -* draft": "budget draft", "budget -& draft": "budget draft", "budget -AND draft": "budget draft",
		"budget -~ \"a b\"": `budget "a b"`, "budget -\" draft": "budget draft", "budget -\"draft": "budget -draft", "budget −draft": "budget -draft",
		"budget -\x01draft": "budget draft", "budget -": "budget", "budget -(a b)": "budget -(a b)", "--draft": "-draft"} {
		q, err := Parse(query)
		if err != nil {
			t.Errorf("%q: %v", query, err)
		} else if got := q.String(); got != want {
			t.Errorf("%q is read as %q, want %q", query, got, want)
		}
	}
}

func TestSpansEndInTheirMonth(t *testing.T) {
	for _, c := range []struct{ now, span, want string }{
		{"2026-03-31", "1m", "2026-02-28"}, {"2026-03-30", "1m", "2026-02-28"}, {"2024-02-29", "1y", "2023-02-28"}, {"2026-05-31", "3m", "2026-02-28"},
		{"2026-05-15", "1m", "2026-04-15"}, {"2026-01-31", "2m", "2025-11-30"}, {"2026-12-31", "12m", "2025-12-31"}, {"2026-01-01", "1m", "2025-12-01"},
	} {
		now, err := time.Parse(time.DateOnly, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := LastSpan(c.span, now.Add(time.Hour)); err != nil || got.Format(time.DateOnly) != c.want || got.Hour() != 1 {
			t.Errorf("%s before %s is %v (%v), want %s", c.span, c.now, got, err, c.want)
		}
	}
}
