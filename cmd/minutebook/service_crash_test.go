package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/service"
)

const redirect = "https://notes.example/cb"

// annsMeetings writes a file of n meetings that ann recorded.
func annsMeetings(t *testing.T, n int) string {
	t.Helper()
	var lines strings.Builder
	for id := 1; id <= n; id++ {
		at := time.Date(2026, 1, 1, id, 0, 0, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&lines, `{"recording_id":%d,"title":"Meeting %d","created_at":%q,"recording_start_time":%q,"shared_with":"no_teams",`+
			`"recorded_by":{"name":"Ann","email":"ann@acme.example","email_domain":"acme.example","team":"Sales"},"calendar_invitees":[],`+
			`"default_summary":{"template_name":"General","markdown_formatted":"We said zq%dqz."}}`+"\n", id, id, at, at, id)
	}
	file := filepath.Join(t.TempDir(), "meetings.ndjson")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// token calls the token endpoint; status is 0 when no whole answer came.
func token(base string, app control.NewApp, pairs ...string) (got tokens, status int) {
	form := url.Values{"client_id": {app.ClientID}, "client_secret": {app.ClientSecret}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	resp, err := http.PostForm(base+"/external/v1/oauth2/token", form)
	if err != nil {
		return got, 0
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&got) != nil {
		return got, 0
	}
	return got, resp.StatusCode
}

// hooked is an endpoint that notes which webhook-ids came for a recording.
type hooked struct {
	*httptest.Server
	mu  sync.Mutex
	ids map[int64]map[string]bool // guarded by mu
}

func newHooked(t *testing.T) *hooked {
	h := &hooked{ids: map[int64]map[string]bool{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			ID int64 `json:"recording_id"`
		}
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &m) != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.ids[m.ID] == nil {
			h.ids[m.ID] = map[string]bool{}
		}
		h.ids[m.ID][r.Header.Get("webhook-id")] = true
	}))
	t.Cleanup(h.Close)
	return h
}

// TestServiceKilled kills the service while four refreshes race for one token
// and meetings finish, again and again: no token ever gives two answers, and
// every meeting is delivered, under one webhook-id.
func TestServiceKilled(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	rounds := 5
	if n, err := strconv.Atoi(os.Getenv("MINUTEBOOK_CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	dir, file, in := t.TempDir(), annsMeetings(t, rounds+1), newHooked(t)
	up := func() *program {
		return start(t, "service", "--data", dir, "--load", file, "--hold", strconv.Itoa(rounds+1))
	}
	p := up()
	app := runJSON[control.NewApp](t, "service", "apps", "create", "--data", dir, "--name", "Notes", "--redirect-uri", redirect)
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", dir, "--user", "ann@acme.example").APIKey
	register(t, p.url, key, in.URL)
	for range rounds {
		code := runJSON[control.AppCode](t, "service", "apps", "authorize", "--data", dir, "--client-id", app.ClientID, "--user", "ann@acme.example").Code
		old, status := token(p.url, app, "grant_type", "authorization_code", "code", code, "redirect_uri", redirect)
		if status != http.StatusOK {
			t.Fatalf("exchange: %d", status)
		}
		won := make(chan tokens, 4)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got, status := token(p.url, app, "grant_type", "refresh_token", "refresh_token", old.Refresh); status == http.StatusOK {
					won <- got
				}
			})
		}
		time.Sleep(time.Duration(random.Int64N(int64(15 * time.Millisecond))))
		p.kill()
		wg.Wait()
		run(t, "service", "finish", "--data", dir) // with nothing running
		p = up()
		_, again := token(p.url, app, "grant_type", "refresh_token", "refresh_token", old.Refresh)
		switch {
		case len(won) > 1, len(won) == 1 && again != http.StatusBadRequest, again != http.StatusOK && again != http.StatusBadRequest:
			t.Errorf("%d refreshes won, and afterwards the same token is answered %d", len(won), again)
		case len(won) == 1:
			if _, status := token(p.url, app, "grant_type", "refresh_token", "refresh_token", (<-won).Refresh); status != http.StatusOK {
				t.Errorf("the winner's token is answered %d", status)
			}
		}
	}
	run(t, "service", "finish", "--data", dir) // with the service running
	eventually(t, "everything is delivered", func() (bool, any) {
		list := runJSON[[]service.Delivery](t, "service", "deliveries", "list", "--data", dir, "--state", "done")
		return len(list) == rounds+1, list
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	for id, ids := range in.ids {
		if len(ids) != 1 {
			t.Errorf("meeting %d was delivered under %d ids", id, len(ids))
		}
	}
	if len(in.ids) != rounds+1 {
		t.Errorf("%d meetings were delivered, want %d", len(in.ids), rounds+1)
	}
}

// register makes a webhook for the meetings that the key's owner records.
func register(t *testing.T, base, key, to string) {
	t.Helper()
	body := fmt.Sprintf(`{"destination_url": %q, "triggered_for": ["my_recordings"], "include_summary": true}`, to)
	if status := callAs(t, http.MethodPost, base+"/external/v1/webhooks", key, body); status != http.StatusCreated {
		t.Fatalf("the webhook is answered %d", status)
	}
}

// callAs makes a call with an API key and returns the answer's status.
func callAs(t *testing.T, method, url, key, body string) int {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
