package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/absurd"
	"minutebook/internal/loopback"
)

// TestOAuthSurvivesAbsurdTokens changes the token endpoint's answers by a seed.
// Once they are right again the account works, or says that it has to be
// connected, since the refresh token was in an answer that is lost.
func TestOAuthSurvivesAbsurdTokens(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			service, answers := &tokenService{life: 86400}, absurd.New(seed)
			_, c := connect(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				service.ServeHTTP(rec, r)
				w.WriteHeader(rec.Code)
				body := rec.Body.Bytes()
				if r.URL.Path == "/external/v1/oauth2/token" {
					body = answers.Change(body)
				}
				_, _ = w.Write(body)
			})}, &memoryStore{})
			a := c.cred.(*OAuth)
			if err := a.Exchange(t.Context(), "the-code"); err != nil {
				t.Fatal(err)
			}
			answers.SetRate(0.7)
			for range 4 {
				time.Sleep(25 * time.Hour)
				_ = c.Check(t.Context())
			}
			answers.SetRate(0)
			if err := c.Check(t.Context()); err != nil && !NeedsReconnect(err) {
				t.Errorf("seed %d, right again: %v", seed, err)
			}
		})
	}
}
