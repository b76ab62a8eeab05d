package service

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
)

// TestChangesOfUsersTogether makes users and teams, deactivates users and loads meetings, all
// at one time: none of it is lost.
func TestChangesOfUsersTogether(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	const n = 10
	for i := range n {
		if _, err := s.CreateUser(t.Context(), NewUser{Email: fmt.Sprintf("old%d@acme.example", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var g errgroup.Group
	for i := range n {
		g.Go(func() error {
			_, err := s.CreateUser(t.Context(), NewUser{Email: fmt.Sprintf("new%d@acme.example", i), Team: "Support"})
			return err
		})
		g.Go(func() error {
			_, err := s.CreateUser(t.Context(), NewUser{Email: fmt.Sprintf("own%d@acme.example", i), Team: fmt.Sprint("Team ", i)})
			return err
		})
		g.Go(func() error {
			return s.SetUserStatus(t.Context(), fmt.Sprintf("old%d@acme.example", i), api.StatusDeactivated)
		})
		g.Go(func() error {
			line := meeting(10+i, recordedBy(fmt.Sprint("load", i), fmt.Sprint("Loaded ", i))...)
			_, err := s.Load(t.Context(), strings.NewReader(line), "test")
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	users, err := s.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, u := range users {
		status[u.Email] = u.Status
	}
	teams, err := s.archive.Memberships(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for name, want := range map[string]string{"new": api.StatusActive, "own": api.StatusActive, "load": api.StatusActive, "old": api.StatusDeactivated} {
			if email := fmt.Sprintf("%s%d@acme.example", name, i); status[email] != want {
				t.Errorf("%s is %q, want %s", email, status[email], want)
			}
		}
		for name, want := range map[string]string{"new": "Support", "own": fmt.Sprint("Team ", i), "load": fmt.Sprint("Loaded ", i)} {
			if email := fmt.Sprintf("%s%d@acme.example", name, i); strings.Join(teams[email], ", ") != want {
				t.Errorf("%s is in %v, want %s", email, teams[email], want)
			}
		}
	}
	if all, err := s.archive.TeamsOf(t.Context(), archive.LocalAccount); err != nil || len(all) != 2+2*n {
		t.Errorf("%d teams, %v", len(all), err)
	}
}
