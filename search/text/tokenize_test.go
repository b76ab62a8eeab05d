package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

func terms(text string) string {
	var out []string
	for _, t := range Tokenize(text) {
		if t.Joined {
			out = append(out, "["+t.Term+"]")
			continue
		}
		out = append(out, t.Term)
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
		{norm.NFD.String("회의를 가방 ガイド й é"), "회의 의를 [를] 가방 [방] ガイ イド [ド] й e"},
		{"ｶﾞｲﾄﾞ", "ガイ イド [ド]"},
		{"葛\U000E0100城 1\ufe0f\u20e3", "葛城 [城] 1"},
		{"обʼєкт oʻzbek ג׳ון don‘t O´Brien L＇été", "об єкт [обєкт] zbek [ozbek] ג ון [גון] dont brien [obrien] ete [lete]"},
		{"Kosten\u00advoranschlag col·lecció ʼ end\u00ad", "kosten voranschlag [kostenvoranschlag] col leccio [colleccio] end"},
		{"می\u200cخواهیم", "می خواهیم"},
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
	for _, tk := range Tokenize(text) {
		if got := FoldWord(strings.NewReplacer("-", "", "’", "", "'", "").Replace(text[tk.Start:tk.End])); got != tk.Term {
			t.Errorf("term %q stands at %q", tk.Term, text[tk.Start:tk.End])
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("a-b.c@d's 1,000 会議 \xff \u0301")
	f.Add("ـ-ـ a")
	f.Fuzz(func(t *testing.T, in string) {
		for _, tk := range Tokenize(in) {
			if tk.Start < 0 || tk.End > len(in) || tk.Start >= tk.End {
				t.Fatalf("%q: token %+v is outside", in, tk)
			}
			if utf8.ValidString(in) && !utf8.ValidString(tk.Term) {
				t.Fatalf("%q: term %q is no text", in, tk.Term)
			}
		}
		if slices.Contains(PhraseTerms(in), "") {
			t.Fatalf("%q: an empty term is to be looked for", in)
		}
	})
}
