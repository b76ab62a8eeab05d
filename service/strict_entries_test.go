package service

import (
	"bytes"
	"testing"
)

// FuzzStrictEntries: what the quick reader takes for a strict transcript is one
// by its decoded form too, and every one written the usual way is read quickly.
func FuzzStrictEntries(f *testing.F) {
	const entry = `{"speaker":{"display_name":"A","matched_calendar_invitee_email":null},"text":"née \"x\" \u00e9","timestamp":"00:00:01"}`
	for _, seed := range []string{"[]", " [ ] ", "[" + entry + "]", "[" + entry + ", " + entry + "\n]", `[{"text":"a"}]`, "[" + entry + ",]", entry, "null", `[{}]`,
		`[{"speaker":{"display_name":null},"text":"a","timestamp":"00:00:01"}]`, `[{"speaker":{"display_name":"a"},"text":"a","timestamp":"1:02"}]`,
		"[" + entry[:20], `[{"speaker":{"display_name":"a\q"},"text":"a","timestamp":"00:00:01"}]`, `[{"speaker":{"display_name":"a"},"text":"a","text":null,"timestamp":"00:00:01"}]`,
		`[{"speaker":{"display_name":"a"},"text":"a","timestamp":"00:00:\u0030"}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quick, whole := (&reader{raw: raw}).entries(), decodedEntries(raw)
		if quick && !whole {
			t.Errorf("%q is read quickly and is not strict", raw)
		}
		if usual := bytes.HasPrefix(raw, []byte("["+entry)) && whole; usual && bytes.Count(raw, []byte(entry))*(len(entry)+1)+1 == len(raw) && !quick {
			t.Errorf("%q is not read quickly", raw)
		}
	})
}
