package api

import (
	"encoding/json"
	"net/url"
	"testing"
)

// FuzzPage: a page that is read has the items of its list and no other, and a missing list
// is never an empty one.
func FuzzPage(f *testing.F) {
	for _, s := range []string{`{"limit":10,"next_cursor":null,"items":[]}`, `{"items":null}`, `{}`, `[]`, `{"items":[1,{"a":2}],"next_cursor":7}`,
		`{"items":[],"items":{}}`, `{"next_cursor":{"a":1},"items":[null]}`, ` `, `{"items":[[]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) && len(body) > 0 {
			return // an answer's body is valid JSON, or empty
		}
		p, err := readPage(&call{method: "GET", path: "/meetings", query: url.Values{}}, &answer{status: 200, body: body})
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			t.Fatalf("a page was read from %q", body)
		}
		for _, item := range p.Items {
			if !json.Valid(item) {
				t.Errorf("the item %q is no JSON", item)
			}
		}
	})
}

// FuzzParseTime: an instant that is read is written and read again as the same.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2025-10-15T17:31:26Z", "2025-10-15T17:31:26.123+02:00", "2025-10-15 17:31", "0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1760549486"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime(s)
		if err != nil {
			return
		}
		raw, err := json.Marshal(at)
		if err != nil {
			t.Fatalf("%q is %v, which cannot be written: %v", s, at, err)
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
		if again, err := ParseTime(text); err != nil || !again.Equal(at) {
			t.Errorf("%q is %v, and then %v, %v", s, at, again, err)
		}
	})
}
