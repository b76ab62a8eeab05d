package search

import "testing"

func TestLanguages(t *testing.T) {
	langs := newLanguages()
	for _, c := range []struct{ code, a, b string }{
		{"en", "budgets", "budgeting"},
		{"en", "studies", "study"},
		{"de", "hauser", "haus"},
		{"fr", "decisions", "decision"},
		{"es", "reuniones", "reunion"},
		{"ru", "бюджета", "бюджет"},
	} {
		l := langs.get(c.code)
		if l.stem(c.a) != l.stem(c.b) {
			t.Errorf("%s: %q has the stem %q, %q has %q", c.code, c.a, l.stem(c.a), c.b, l.stem(c.b))
		}
	}
	for _, c := range []struct{ code, word string }{{"en", "the"}, {"de", "uber"}, {"fr", "etait"}} {
		if !langs.get(c.code).stop[c.word] {
			t.Errorf("%s: %q is no stop word", c.code, c.word)
		}
	}
	for _, code := range []string{"", "xx", "id", "el", "ar", "fa", "hi", "ckb", "ja"} {
		if l := langs.get(code); l.stem("word") == "" {
			t.Errorf("%s: the stem of a foreign word is empty", code)
		}
	}
	if got := baseCode("pt-BR") + baseCode("unknown") + baseCode("nb_NO"); got != "ptno" {
		t.Errorf("base codes are %q", got)
	}
}
