package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// While a walk waits for a token endpoint that asks for patience, nobody waits for the walk; it renews
// the token afterwards, once.
func TestAWaitForTheTokenEndpointHoldsUpNobody(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for _, isRefused := range []bool{false, true} { // the access token is, or has expired
			synctest.Test(t, func(t *testing.T) {
				var refuses, isRevoked atomic.Bool
				tokens := &tokenService{life: 86400}
				a, c := connect(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case refuses.Load() && strings.HasSuffix(r.URL.Path, tokenPath):
						w.Header().Set("Retry-After", "7200")
						w.WriteHeader(status)
					case isRevoked.Load() && r.Header.Get("Authorization") == "Bearer access-1":
						w.WriteHeader(http.StatusUnauthorized)
					default:
						tokens.ServeHTTP(w, r)
					}
				})}, &memoryStore{})
				if err := a.Exchange(t.Context(), "the-code"); err != nil {
					t.Fatal(err)
				}
				refuses.Store(true)
				if isRevoked.Store(isRefused); !isRefused {
					time.Sleep(24 * time.Hour)
				}
				done := make(chan error, 1)
				go func() { done <- c.Check(t.Context()) }()
				time.Sleep(10 * time.Second)
				for what, use := range map[string]func() error{
					"status": func() error {
						_, err := a.Status(t.Context())
						return err
					},
					"a call that does not wait": func() error {
						if err := c.Check(WithLongestWait(t.Context(), time.Minute)); !errors.Is(err, ErrLongWait) {
							return errors.Join(errors.New("want ErrLongWait"), err)
						}
						return nil
					},
					"an impatient call": func() error {
						ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
						defer cancel()
						if err := c.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
							return errors.Join(errors.New("want the deadline"), err)
						}
						return nil
					},
				} {
					began := time.Now()
					if err := use(); err != nil || time.Since(began) > time.Minute {
						t.Errorf("%d, refused %t: %s ended after %v: %v", status, isRefused, what, time.Since(began), err)
					}
				}
				began := time.Now()
				refuses.Store(false)
				if err := <-done; err != nil || time.Since(began) > 2*time.Hour || time.Since(began) < time.Hour {
					t.Errorf("%d: the walk ended after %v: %v", status, time.Since(began), err)
				}
				if tokens.n != 2 {
					t.Errorf("%d: %d pairs were issued, want one and its renewal", status, tokens.n)
				}
			})
		}
	}
}
