package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"web.listen", "web.hosts", "receiver.listen", "sync.walk"}
	for word, want := range map[string]string{
		"web.lisen": "web.listen", "web.lsiten": "web.listen", "WEB.HOST": "web.hosts", "recever.listen": "receiver.listen",
		"": "", "x": "", "media.url": "", "sync.walk": "sync.walk",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"creat", "create", 1}} {
		if got := Distance(tc.a, tc.b); got != tc.want || Distance(tc.b, tc.a) != tc.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestUnknownError(t *testing.T) {
	for want, known := range map[string][]string{
		`no account is named "adda"; did you mean ada?`:                                                         {"bob", "ada"},
		`no account is named "adda"; there are zoe, bob`:                                                        {"zoe", "bob"},
		`no account is named "adda"; none is configured: name the configuration with -c FILE, or add one there`: nil,
	} {
		if got := (&UnknownError{Kind: "account", Name: "adda", Known: known}).Error(); got != want {
			t.Errorf("of %v: %s", known, got)
		}
	}
}
