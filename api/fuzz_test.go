package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"minutebook/internal/rawjson"
)

func seeds() []string {
	return []string{
		`{"recording_id":1}`, `{"recording_id":"7","transcript":null,"default_summary":{"markdown_formatted":"x"}}`,
		`{"recording_id":9,"title":"\ud800","transcript":[{"speaker":null,"text":"a","timestamp":"00:00:01"}],"x":{"transcript":[]}}`,
		`{"recording_id":1e3}`, `{"recording_id":1,"recording_id":2,"highlights":[{}],"highlights":3}`,
		`[]`, `null`, `{`, "\xff", `{"trans\u0063ript":[1],"recording_id":5}`, `{"created_at":"2025-10-15T19:31:26+02:00","recording_id":1}`,
		` { "recording_id" : 1 , "crm_matches" : { "error" : "none" } } `,
	}
}

func FuzzDecodeMeeting(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m, again Meeting
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("a meeting that was read cannot be written: %v", err)
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(b) {
			t.Fatalf("written %s, then %s, %v", b, second, err)
		}
	})
}

func FuzzSplitMeeting(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		rawjson.Hash(raw)
		_ = Empty(raw)
		id, parts, err := SplitMeeting(raw)
		if err != nil {
			return
		}
		joined, err := JoinMeeting(parts)
		if err != nil {
			t.Fatal(err)
		}
		again, partsAgain, err := SplitMeeting(joined)
		if err != nil || again != id || len(partsAgain) != len(parts) {
			t.Fatalf("%s was split otherwise the second time: %v", joined, err)
		}
		for p, v := range parts {
			if string(partsAgain[p]) != string(v) {
				t.Fatalf("%s is %s, then %s", p, v, partsAgain[p])
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "30", "-1", "1.5", "1e99", "NaN", "Inf", "Wed, 15 Oct 2025 17:32:26 GMT", "Wednesday, 15-Oct-25 17:32:26 GMT", "soon"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, retry, reset string) {
		h := http.Header{"Retry-After": {retry}, "Ratelimit-Reset": {reset}, "Ratelimit-Limit": {reset}, "Ratelimit-Remaining": {retry}}
		if d, ok := RetryAfter(h, testTime); d < 0 || d > maxRetryAfter || !ok && d != 0 {
			t.Fatalf("%q is %v, %v", retry, d, ok)
		}
		b := NewBudget(BudgetOptions{Now: func() time.Time { return testTime }})
		s, err := b.acquire(t.Context(), testTime, ClassGlobal, ClassHeavy)
		if err != nil {
			t.Fatal(err)
		}
		b.finish(t.Context(), s, http.StatusTooManyRequests, h)
		for _, u := range b.Snapshot() {
			if u.Limit < 1 || u.Limit > u.Nominal || u.Blocked.Sub(testTime) > maxRetryAfter+2*time.Second {
				t.Fatalf("%q, %q lead to %+v", retry, reset, u)
			}
		}
	})
}

func FuzzParseOffset(f *testing.F) {
	for _, s := range []string{"00:00:00", "01:02:03", "75:10", "1:2:3.25", "00:60:00", "-1:00:00", "999999999:00:00", "::", "0:0:0.", "00:00:01.0000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseOffset(s)
		if err != nil {
			return
		}
		if d < 0 || d > (maxOffsetHours*3600+1)*time.Second {
			t.Fatalf("%q is %v", s, d)
		}
		if back, err := ParseOffset(FormatOffset(d)); err != nil || back != d.Truncate(time.Second) {
			t.Fatalf("%q is %v, written back %v, %v", s, d, back, err)
		}
	})
}

// FuzzErrorBody: no body can make an error that repeats an address or breaks the
// line.
func FuzzErrorBody(f *testing.F) {
	for _, s := range []string{"", `{"error":"text"}`, `{"errors":[{"message":"a"}]}`, "<html>", `{"error":"bad https://me.example/cb/SECRET"}`, `"x"`, "plain\ntext", `{"error":"a\u001b[2J"}`} {
		f.Add("application/json", []byte(s))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		text := messageIn(kind, body, nil)
		if addressPattern.MatchString(text) || len(text) > 310 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("%q became %q", body, text)
		}
	})
}

// FuzzResources: a resource that was read is written and read again as the same, and a
// recording's file has an address.
func FuzzResources(f *testing.F) {
	for _, s := range []string{`{"name":null,"email":"ann@acme.example","created_at":"2025-10-15T17:31:26Z","status":"active","permissions":{"settings_access":{"level":"none"},"view_access":{"level":"team","teams":["Sales"]}}}`,
		`{"name":"Sales","created_at":"2025-10-15T17:31:26.5+02:00","status":7,"permissions":[]}`,
		`{"download_id":"d","recording_id":7,"status":"completed","video":{"url":"https://m.example/f","content_type":"video/mp4","file_size_bytes":9,"expires_at":"2025-10-15T17:31:26Z"},"audio":null}`,
		`{"id":"w","url":"https://me.example/h","secret":"whsec_x","created_at":"","triggered_for":["my_recordings"],"include_transcript":true}`, `{"recording_id":1e3,"video":{"url":7}}`, `null`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		readTwice[User](t, raw)
		readTwice[Team](t, raw)
		readTwice[TeamMember](t, raw)
		readTwice[MeetingType](t, raw)
		readTwice[Webhook](t, raw)
		d := readTwice[Download](t, raw)
		if file, _, ok := d.File(); ok && file.URL == "" {
			t.Errorf("%q has a file without an address", raw)
		}
	})
}

// readTwice reads a resource, writes it, and reads it again.
func readTwice[T any](t *testing.T, raw []byte) (v T) {
	if decodeLenient(raw, &v) != nil {
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%T was read and cannot be written: %v", v, err)
	}
	var again T
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != string(b) {
		t.Fatalf("written %s, then %s, %v", b, second, err)
	}
	return v
}
