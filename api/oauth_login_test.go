package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

func TestALoginIsFinishedByTheRedirectOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenService{life: 600}
		a, c := connect(t, &loopback.Transport{Handler: s}, &memoryStore{})
		b, _ := connect(t, &loopback.Transport{Handler: s}, &memoryStore{})
		h := RedirectHandler(b, a)
		visit := func(query url.Values) (int, string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, a.RedirectPath()+"?"+query.Encode(), nil))
			return w.Code, w.Body.String()
		}
		address, state, err := a.Begin()
		if err != nil || !strings.Contains(address, "state="+state) || a.RedirectPath() != "/oauth" {
			t.Fatalf("%s, %v", address, err)
		}
		for _, query := range []url.Values{{}, {"code": {"the-code"}}, {"code": {"the-code"}, "state": {"guessed"}}} {
			if status, _ := visit(query); status != http.StatusBadRequest || s.n != 0 {
				t.Errorf("%v was answered %d", query, status)
			}
		}
		if status, text := visit(url.Values{"code": {"the-code"}, "state": {state}}); status != http.StatusOK || !strings.Contains(text, "work is connected") {
			t.Errorf("answered %d %s", status, text)
		}
		if err := c.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if status, _ := visit(url.Values{"code": {"the-code"}, "state": {state}}); status != http.StatusBadRequest || s.n != 1 {
			t.Errorf("the second visit was answered %d", status)
		}
		_, state, _ = a.Begin()
		if status, text := visit(url.Values{"error": {"<b>denied"}, "state": {state}}); status != http.StatusBadGateway || strings.Contains(text, "<b>") {
			t.Errorf("a refusal was answered %d %s", status, text)
		}
		_, state, _ = a.Begin()
		time.Sleep(time.Hour)
		if status, _ := visit(url.Values{"code": {"the-code"}, "state": {state}}); status != http.StatusBadRequest {
			t.Errorf("an hour later it was answered %d", status)
		}
	})
}
