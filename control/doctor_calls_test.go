package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive/archivetest"
)

// checkFinding fails unless an examination has one finding, with this severity and these words
// in its text and its advice.
func checkFinding(t *testing.T, e *examination, severity Severity, text, remedy string) {
	t.Helper()
	if len(e.findings) != 1 || e.findings[0].Severity != severity || !strings.Contains(e.findings[0].Text, text) || !strings.Contains(e.findings[0].Remedy, remedy) {
		t.Errorf("found %+v, not one %s with %q and the advice %q", e.findings, severity, text, remedy)
	}
}

// answering starts a server that answers each request with a status and a text. Where it fails
// it asks to be called an hour later, or after the seconds in the text.
func answering(t *testing.T, status int, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", cmp.Or(text, "3600"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// absent returns the address of a server that is there no more.
func absent() string {
	server := httptest.NewServer(nil)
	defer server.Close()
	return server.URL
}

// TestDoctorCallsTheService has services that fail, refuse, do not answer and are not there, and
// an address at which something else is.
func TestDoctorCallsTheService(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	const short = time.Second / 2 // for calls that wait until they are given up
	a := archivetest.New(t)
	for name, c := range map[string]struct {
		url          string
		severity     Severity
		text, remedy string
		patience     time.Duration
	}{
		"works":                 {answering(t, http.StatusOK, `{"items": [], "next_cursor": null}`), SeverityOK, "the service answers", "", time.Minute},
		"fails":                 {answering(t, http.StatusServiceUnavailable, ""), SeverityWarning, "503", "(5xx), only waiting helps", time.Minute},
		"asks to wait":          {answering(t, http.StatusTooManyRequests, ""), SeverityWarning, "the service asks not to be called before 20", "wait; does another program", short},
		"asks to wait for days": {answering(t, http.StatusTooManyRequests, "432000"), SeverityWarning, "the service asks not to be called before 20", "wait; does another program", time.Minute},
		"refuses":               {answering(t, http.StatusForbidden, ""), SeverityError, "the service refuses it", "give it a valid key", time.Minute},
		"another path":          {answering(t, http.StatusNotFound, ""), SeverityError, "404", "check base_url, which ends in /external/v1", time.Minute},
		"a page":                {answering(t, http.StatusOK, "<!doctype html>"), SeverityError, "the call fails", "check base_url, which ends in /external/v1", time.Minute},
		"silent":                {silent.URL, SeverityWarning, "no answer within 10s", "is base_url right", short},
		"absent":                {absent(), SeverityWarning, "the call fails", "is base_url right", time.Minute},
		"no client":             {"", SeverityError, "it cannot be used: no key", "correct the configuration", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			e := examination{h: Deps{Archive: a, OAuthAccounts: func() []string { return nil }, Webhooks: Webhooks{Accounts: []string{"ada"},
				Client: func(context.Context, string) (*api.Client, error) {
					if c.url == "" {
						return nil, errors.New("no key")
					}
					return api.NewClient(api.ClientOptions{BaseURL: c.url + "/external/v1", Credential: api.APIKey("mbk_key")})
				}}}}
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			e.examineAccounts(ctx)
			if c.severity == SeverityOK {
				e.findings = slices.DeleteFunc(e.findings, func(f Finding) bool { return f.Subject == "clock" && f.Severity == SeverityOK })
			}
			checkFinding(t, &e, c.severity, c.text, c.remedy)
		})
	}
}

// TestDoctorSaysWhenCallsAreTaken has a client whose calls, and whose calls for a token, are
// refused for different times: a valid token makes the longer time of the token endpoint no matter.
func TestDoctorSaysWhenCallsAreTaken(t *testing.T) {
	a := archivetest.New(t)
	soon, late := time.Now().Add(time.Hour).Round(time.Millisecond), time.Now().Add(9*time.Hour).Round(time.Millisecond)
	for name, c := range map[string]struct{ windows, want string }{
		"both":  {fmt.Sprintf(`"global":{"limit":60,"blocked":%d},"token":{"limit":60,"blocked":%d}`, soon.UnixMilli(), late.UnixMilli()), formatUTC(soon)},
		"token": {fmt.Sprintf(`"token":{"limit":60,"blocked":%d}`, late.UnixMilli()), formatUTC(late)},
		"none":  {"", formatUTC(time.Time{})},
	} {
		if err := a.SaveBudget(t.Context(), name, []byte(`{"v":1,"windows":{`+c.windows+`}}`)); err != nil {
			t.Fatal(err)
		}
		client, err := api.NewClient(api.ClientOptions{BaseURL: absent(), Credential: api.APIKey("mbk_key"), Budget: api.NewBudget(api.BudgetOptions{Connection: name, Store: a})})
		if err != nil {
			t.Fatal(err)
		}
		if got := formatUTC(refusedUntil(t.Context(), client)); got != c.want {
			t.Errorf("%s: refused until %s, not %s", name, got, c.want)
		}
	}
}

// TestDoctorDeliversToItself has public addresses at which another receiver, something else, a
// failing proxy or nobody answers.
func TestDoctorDeliversToItself(t *testing.T) {
	a := archivetest.New(t)
	for name, c := range map[string]struct{ url, text string }{
		"another's secret": {answering(t, http.StatusUnauthorized, ""), "another receiver answers there"},
		"something else":   {answering(t, http.StatusNotFound, ""), "leads to something else"},
		"a failing proxy":  {answering(t, http.StatusBadGateway, ""), "502"},
		"another's inbox":  {answering(t, http.StatusOK, ""), "is not in this inbox"},
		"nobody":           {absent(), "does receiver.public_url lead to receiver.listen?"},
	} {
		t.Run(name, func(t *testing.T) {
			e := examination{h: Deps{Archive: a, Webhooks: Webhooks{Archive: a, Accounts: []string{"ada"}, PublicURL: c.url, Now: time.Now,
				Refresh:    func(context.Context) error { return nil },
				Configured: func(string) []string { return []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} }}}}
			e.examineDeliveries(t.Context())
			checkFinding(t, &e, SeverityError, "does not arrive: ", "check the name, the certificate and the proxy of "+c.url)
			checkFinding(t, &e, SeverityError, c.text, "")
		})
	}
	if n, err := a.Counts(t.Context()); err != nil || n.Meetings > 0 {
		t.Errorf("the tests left %d meetings, %v", n.Meetings, err)
	}
}

// TestDoctorWritesToTheDisk has fast and slow disks, and an archive whose folder is away.
func TestDoctorWritesToTheDisk(t *testing.T) {
	for p99, want := range map[time.Duration]struct {
		severity Severity
		text     string
	}{
		time.Microsecond: {SeverityOK, "within 100µs"}, fsyncWarning: {SeverityOK, "within 50ms"}, fsyncWarning + 9*time.Millisecond: {SeverityWarning, "within 59ms"},
	} {
		var e examination
		e.judgeWrites(p99, nil)
		checkFinding(t, &e, want.severity, "99 of 100 writes reach it "+want.text, map[Severity]string{SeverityWarning: "use a faster disk"}[want.severity])
	}
	e := examination{h: Deps{Archive: archivetest.New(t)}}
	dir := e.h.Archive.Dir()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	e.examineDisk(t.Context())
	checkFinding(t, &e, SeverityError, "nothing can be written", "is the disk full, or read-only?")
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
}
