package api

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// Passing failures are tried again after waits that double, at random between half
// and the whole of each, never earlier than told, and not for ever.
func TestRepetitionsWaitLongerEachTime(t *testing.T) {
	for name, c := range map[string]struct {
		random     float64
		retryAfter string
		want       []time.Duration // between the calls
	}{
		"the shortest":        {0, "", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		"the longest":         {1, "", []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}},
		"as the service says": {0, "3", []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second, 4 * time.Second, 8 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					at = append(at, time.Now())
					if c.retryAfter != "" {
						w.Header().Set("Retry-After", c.retryAfter)
					}
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				client, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKey("k"), Rand: func() float64 { return c.random },
					HTTP: &http.Client{Transport: &loopback.Transport{Handler: h}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := client.Check(t.Context()); err == nil {
					t.Error("a call that never succeeds succeeded")
				}
				var got []time.Duration
				for i := 1; i < len(at); i++ {
					got = append(got, at[i].Sub(at[i-1]))
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("waited %v\nwant   %v", got, c.want)
				}
			})
		})
	}
}

// TestWithoutRepetition calls a service that fails, and nobody, for a person who waits.
func TestWithoutRepetition(t *testing.T) {
	calls := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	client, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKey("k"), HTTP: &http.Client{Transport: &loopback.Transport{Handler: h}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Check(WithoutRepetition(t.Context())); !IsTemporary(err) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
