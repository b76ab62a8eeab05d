package text

import "testing"

func TestLanguages(t *testing.T) {
	langs := NewLanguages()
	for _, c := range []struct{ code, a, b string }{
		{"en", "budgets", "budgeting"},
		{"en", "studies", "study"},
		{"de", "hauser", "haus"},
		{"fr", "decisions", "decision"},
		{"es", "reuniones", "reunion"},
		{"ru", "бюджета", "бюджет"},
	} {
		l := langs.Get(c.code)
		if l.Stem(c.a) != l.Stem(c.b) {
			t.Errorf("%s: %q has the stem %q, %q has %q", c.code, c.a, l.Stem(c.a), c.b, l.Stem(c.b))
		}
	}
	for _, c := range []struct{ code, word string }{{"en", "the"}, {"de", "uber"}, {"fr", "etait"}} {
		if !langs.Get(c.code).StopWords[c.word] {
			t.Errorf("%s: %q is no stop word", c.code, c.word)
		}
	}
	for _, code := range []string{"", "xx", "id", "el", "ar", "fa", "hi", "ckb", "ja"} {
		if l := langs.Get(code); l.Stem("word") == "" {
			t.Errorf("%s: the stem of a foreign word is empty", code)
		}
	}
	if got := BaseCode("pt-BR") + BaseCode("unknown") + BaseCode("nb_NO"); got != "ptno" {
		t.Errorf("base codes are %q", got)
	}
}
