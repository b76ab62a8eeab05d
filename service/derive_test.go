package service

import (
	"slices"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
	"minutebook/service/limit"
)

// Every team that meetings name is there, with all who recorded for it, also
// when a later file is the first to show it.
func TestTheDerivedOrganisationHasAllTeams(t *testing.T) {
	by := func(id int, team string) string { return meeting(id, recordedBy("ann", team)...) }
	s := newSandbox(t, Options{}, by(1, "Sales"), by(2, "Support"), meeting(3, recordedBy("bob", "Support")...))
	if _, err := s.Load(t.Context(), strings.NewReader(by(4, "Research")), "later"); err != nil {
		t.Fatal(err)
	}
	names := func(path string) (names []string) {
		t.Helper()
		var page struct {
			Items []struct{ Name, Email string }
		}
		s.get(path, s.admin, 200).decode(t, &page)
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		return names
	}
	if got := names("/teams"); !slices.Equal(got, []string{"Research", "Sales", "Support"}) {
		t.Errorf("teams are %v", got)
	}
	for team, want := range map[string][]string{"Sales": {"ann"}, "Support": {"ann", "bob"}, "Research": {"ann"}} {
		if got := names("/team_members?team=" + team); !slices.Equal(got, want) {
			t.Errorf("members of %s are %v, want %v", team, got, want)
		}
	}
}

// The token endpoint gives a deactivated person no tokens, in OAuth's words, and
// uses nothing up: once active again, the grant is good.
func TestADeactivatedPersonIsGivenNoTokens(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	tok := s.connect(t, id, secret)
	code, err := s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	if err != nil {
		t.Fatal(err)
	}
	refresh := []string{"grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret}
	exchange := []string{"grant_type", "authorization_code", "code", code, "client_id", id, "client_secret", secret, "redirect_uri", redirect}
	for _, status := range []string{api.StatusDeactivated, api.StatusActive} {
		if err := s.SetUserStatus(t.Context(), "ann@acme.example", status); err != nil {
			t.Fatal(err)
		}
		for _, grant := range [][]string{refresh, exchange} {
			a, _ := s.form(grant...)
			refused := a.status == 400 && strings.Contains(string(a.body), `"invalid_grant"`)
			if refused != (status == api.StatusDeactivated) || !refused && a.status != 200 {
				t.Errorf("%s of somebody %s: %d %s", grant[1], status, a.status, a.body)
			}
		}
	}
}

// Testers can lift the limits beyond those of the service, while it runs and for
// later runs.
func TestLimitsAreLifted(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSandbox(t, Options{}, meeting(1))
	if err := s.SetLimits(t.Context(), Limits{Global: 100, Heavy: 80, DownloadLimit: 70}); err != nil {
		t.Fatal(err)
	}
	for range 80 {
		s.get("/recordings/1/summary", s.admin, 200)
	}
	if a := s.get("/recordings/1/summary", s.admin, 429); a.header.Get("RateLimit-Limit") != "80" {
		t.Errorf("the limit is %s", a.header.Get("RateLimit-Limit"))
	}
	for range 20 {
		s.get("/teams", s.admin, 200)
	}
	s.get("/teams", s.admin, 429)
	want := s.Limits()
	s.limits.Apply(Limits{})
	if err := s.startLimits(t.Context()); err != nil || s.Limits() != want {
		t.Errorf("at the next start %+v, want %+v, %v", s.Limits(), want, err)
	}
	if err := s.SetLimits(t.Context(), Limits{Heavy: limit.Most + 1}); err == nil {
		t.Error("any limit is taken")
	}
}
