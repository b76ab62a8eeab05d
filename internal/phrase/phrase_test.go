package phrase

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tries", 1: "1 try", 2: "2 tries"} {
		if got := Count(n, "try", "tries"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := Meetings(1) + ", " + Recordings(int64(2)); got != "1 meeting, 2 recordings" {
		t.Errorf("%q", got)
	}
	if got := OneLine(" a\r\n\tb  c\u2028"); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := Tame("\u202egnp\u202c\r\nBcc:\x00 \x1b[31m \u2066x\u2069 سلام\u200cها"); got != "gnp Bcc: [31m x سلام\u200cها" {
		t.Errorf("%q", got)
	}
}
