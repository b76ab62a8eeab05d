package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

const testBase = "https://meet.example/external/v1"

// testClient joins a client to a handler in memory.
func testClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	return clientOver(t, &loopback.Transport{Handler: h}, nil)
}

func clientOver(t *testing.T, tr http.RoundTripper, b *Budget) *Client {
	t.Helper()
	c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKey("k-1"), HTTP: &http.Client{Transport: tr}, Budget: b})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMeetingsOverPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queries []string
		c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			queries = append(queries, r.URL.Query().Get("cursor"))
			if r.Header.Get("X-Api-Key") != "k-1" || r.URL.Path != "/external/v1/meetings" || r.URL.Query()["recorded_by[]"][1] != "b@x.example" {
				t.Errorf("unexpected request %s %v", r.URL, r.Header)
			}
			switch r.URL.Query().Get("cursor") {
			case "":
				fmt.Fprint(w, `{"limit":null,"next_cursor":"c 1","items":[{"recording_id":1},{"recording_id":2}],"other":1}`)
			case "c 1":
				fmt.Fprint(w, `{"limit":10,"next_cursor":"","items":[{"recording_id":2},"odd",{"recording_id":3}]}`)
			}
		})
		var items []string
		for cursor := ""; ; {
			page, err := c.MeetingsPage(t.Context(), MeetingQuery{RecordedBy: []string{"a@x.example", "b@x.example"}}, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				items = append(items, string(item))
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if fmt.Sprint(items, queries) != `[{"recording_id":1} {"recording_id":2} {"recording_id":2} "odd" {"recording_id":3}] [ c 1]` {
			t.Errorf("got %v with cursors %q", items, queries)
		}
	})
}

func TestAListThatIsNotThereIsNotEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{``, `{}`, `{"items":null}`, `{"items":{}}`, `[]`, `null`, `{"items":[],"next_cursor":"x"}`} {
			c := testClient(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
			if _, err := c.MeetingsPage(t.Context(), MeetingQuery{}, "x"); err == nil {
				t.Errorf("%q passed for a page", body)
			}
		}
	})
}

func TestContentThatIsNotThereYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for body, want := range map[string]string{
			`{"transcript":null}`: "", `{"transcript":[]}`: "", `{}`: "", ``: "", `null`: "", `{"transcript":{}}`: "", "404": "",
			`{"transcript": [ {"text":"a"} ]}`: `[ {"text":"a"} ]`, `[{"text":"b"}]`: `[{"text":"b"}]`,
		} {
			c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
				if body == "404" {
					http.Error(w, "<html>", http.StatusNotFound)
					return
				}
				fmt.Fprint(w, body)
			})
			got, err := c.Transcript(t.Context(), 7)
			if err != nil || string(got.Raw) != want || got.NotFound != (body == "404") || got.SentAt.IsZero() {
				t.Errorf("%s gives %+v, %v", body, got, err)
			}
		}
		c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"summary":{"template_name":"General","markdown_formatted":null}}`)
		})
		if got, err := c.Summary(t.Context(), 7); err != nil || got.Raw != nil {
			t.Errorf("a summary without text gives %+v, %v", got, err)
		}
	})
}

func TestErrorsSayWhatAndKeepSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"error": "not for %s"}`, r.URL.Query().Get("cursor"))
		})
		_, err := c.MeetingsPage(t.Context(), MeetingQuery{}, "https://me.example/cb/SECRET")
		var e *Error
		if !errors.As(err, &e) || !IsForbidden(err) || e.RetryAfter != 7*time.Second || e.Path != "/meetings" {
			t.Fatalf("got %#v", err)
		}
		if strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "not for") {
			t.Errorf("the error reads %q", err)
		}
		c = clientOver(t, &loopback.Transport{Fail: func(*http.Request, bool) error { return syscall.ECONNRESET }}, nil)
		_, err = c.MeetingsPage(t.Context(), MeetingQuery{}, "https://me.example/cb/SECRET")
		if !errors.Is(err, syscall.ECONNRESET) || !IsTemporary(err) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error reads %q", err)
		}
	})
}

// TestErrorsRepeatNoCredential has a service name the key that it refuses, also with bytes in it
// that errors leave out.
func TestErrorsRepeatNoCredential(t *testing.T) {
	const key = "key/of+ann"
	for _, form := range []string{`{"error":"unknown key %s"}`, "unknown key %s.", "x_api_key=key%2Fof%2Bann&x"} {
		for _, cut := range []string{"", "\xa5"} {
			answer := strings.ReplaceAll(form, "%s", key[:4]+cut+key[4:])
			c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKey(key), HTTP: &http.Client{Transport: &loopback.Transport{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusUnauthorized)
					fmt.Fprint(w, answer)
				})}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Summary(t.Context(), 7)
			if text := fmt.Sprint(err); strings.Contains(text, key[4:]) || strings.Contains(text, "2Bann") || !strings.Contains(text, "[secret]") {
				t.Errorf("%q becomes %q", answer, text)
			}
		}
	}
}

func TestWhatPassesIsRepeatedAndWhatStaysIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			first http.HandlerFunc
			calls int
		}{
			{"html 429", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(429)
			}, 2},
			{"502", func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
			}, 2},
			{"cut off", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"na`) }, 2},
			{"400", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, 1},
			{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, 1},
			{"redirect", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://evil.example/", http.StatusFound)
			}, 1},
			{"html page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html>")
			}, 1},
		} {
			calls := 0
			client := testClient(t, func(w http.ResponseWriter, r *http.Request) {
				if calls++; calls == 1 {
					c.first(w, r)
					return
				}
				fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
			})
			_, err := client.TeamsPage(t.Context(), "")
			if calls != c.calls || (err == nil) != (c.calls > 1) {
				t.Errorf("%s: %d calls, %v", c.name, calls, err)
			}
		}
	})
}

func TestAWebhookIsNeverMadeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created, lose := 0, true
		tr := &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in map[string]any
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			if _, ok := in["include_highlights"]; ok {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			created++
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"id":17,"secret":"whsec_x"}`)
		}), Fail: func(r *http.Request, answered bool) error {
			if answered && created > 0 && lose {
				return syscall.ECONNRESET
			}
			return nil
		}}
		c := clientOver(t, tr, nil)
		r := WebhookRequest{DestinationURL: "https://me.example/", TriggeredFor: []string{TriggerMyRecordings}, IncludeSummary: true, IncludeHighlights: true}
		if _, err := c.CreateWebhook(t.Context(), r); err == nil || created != 1 {
			t.Errorf("made %d, %v", created, err)
		}
		lose = false
		if w, err := c.CreateWebhook(t.Context(), r); err != nil || w.ID != "17" || created != 2 {
			t.Errorf("got %+v, %v", w, err)
		}
		if _, err := c.CreateWebhook(t.Context(), WebhookRequest{}); err == nil || created != 2 {
			t.Error("an invalid webhook was asked for")
		}
	})
}

func TestACallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3000")
			w.WriteHeader(429)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.MeetingsPage(ctx, MeetingQuery{}, "")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("ended after %v with %v", time.Since(start), err)
		}
	})
}

var testTime = time.Date(2025, 10, 15, 17, 31, 26, 0, time.UTC)
