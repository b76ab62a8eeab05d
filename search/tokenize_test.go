package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func terms(text string) string {
	var out []string
	for _, t := range tokenize(text) {
		if t.whole {
			out = append(out, "["+t.term+"]")
			continue
		}
		out = append(out, t.term)
	}
	return strings.Join(out, " ")
}

func TestTokenize(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Nice . Yeah , I 've never", "nice yeah i ve never"},
		{"Anna's e-mail", "anna e mail [email]"},
		{"don't we'll O'Brien", "dont well brien [obrien]"},
		{"l'homme d’été", "homme [lhomme] ete [dete]"},
		{"ABC-123, abc123", "abc 123 [abc123] abc123"},
		{"anna.lee@client.example!", "anna lee [annalee] client example [clientexample] [annaleeclientexample]"},
		{"1,000,000 and 3.5 at 10.0.0.1.", "1000000 and 3.5 at 10.0.0.1"},
		{"12:30 and/or", "12 30 and or"},
		{"Müller straße Ångström Đorđe", "muller strasse angstrom dorde"},
		{"東京都へ", "東京 京都 都へ [へ]"},
		{"会", "会"},
		{"iPhone会議 now", "iphone 会議 [議] now"},
		{"ｆｕｌｌ ２０２６", "full 2026"},
		{"мой ёлка", "мой елка"},
		{"", ""},
		{"a-", "a"},
	} {
		if diff := cmp.Diff(c.want, terms(c.in)); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
}

func TestTokenizePlaces(t *testing.T) {
	const text = "Ask Zoë-Anne’s mother, don't wait."
	for _, tk := range tokenize(text) {
		if got := foldWide(strings.NewReplacer("-", "", "’", "", "'", "").Replace(text[tk.start:tk.end])); got != tk.term {
			t.Errorf("term %q stands at %q", tk.term, text[tk.start:tk.end])
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("a-b.c@d's 1,000 会議 \xff \u0301")
	f.Fuzz(func(t *testing.T, in string) {
		for _, tk := range tokenize(in) {
			if tk.start < 0 || tk.end > len(in) || tk.start >= tk.end {
				t.Fatalf("%q: token %+v is outside", in, tk)
			}
			if utf8.ValidString(in) && !utf8.ValidString(tk.term) {
				t.Fatalf("%q: term %q is no text", in, tk.term)
			}
		}
	})
}
