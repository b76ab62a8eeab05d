package api

import (
	"net/http"
	"testing"
	"testing/synctest"

	"minutebook/internal/loopback"
)

// An answer's number is that of the attempt that brought it, drawn when that was
// sent; without WithOrder there is none.
func TestAnAnswerHasTheNumberOfItsSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var drawn, arrived int64
		ctx := WithOrder(t.Context(), func() int64 { drawn++; return drawn })
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if arrived++; arrived%2 == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte(`{"items": [], "transcript": [{"text": "x"}], "next_cursor": null}`))
		})
		c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKey("k"), HTTP: &http.Client{Transport: &loopback.Transport{Handler: h}}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.MeetingsPage(ctx, MeetingQuery{}, "")
		if err != nil || page.Order != 2 {
			t.Errorf("page %+v, %v; want number 2", page, err)
		}
		content, err := c.Transcript(ctx, 1)
		if err != nil || content.Order != 4 {
			t.Errorf("content %+v, %v; want number 4", content, err)
		}
		if page, err = c.MeetingsPage(t.Context(), MeetingQuery{}, ""); err != nil || page.Order != 0 {
			t.Errorf("page %+v, %v; want no number", page, err)
		}
	})
}
