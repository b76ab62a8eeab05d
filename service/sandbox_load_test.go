package service

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
)

// TestABadLineLosesNothing loads a file with a line that is no meeting: the lines before it
// are loaded, with their users, and the meetings of an earlier file that were held back are held or loaded.
func TestABadLineLosesNothing(t *testing.T) {
	s := newSandbox(t, Options{Hold: 2}, meeting(1), meeting(2))
	file := strings.Join([]string{meeting(3, recordedBy("bob", "Support")...), meeting(4), "{}", meeting(5)}, "\n")
	r, err := s.Load(t.Context(), strings.NewReader(file), "bad")
	if err == nil || !strings.Contains(err.Error(), "line 3") || r.Meetings != 2 || r.New != 2 || r.Held != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := s.walk("", s.admin); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("listed: %v", got)
	}
	if users, err := s.Users(t.Context()); err != nil || !slices.ContainsFunc(users, func(u api.User) bool { return u.Email == "bob@acme.example" }) {
		t.Errorf("users %v, %v", users, err)
	}
}

// TestACancelledLoadLosesNothingHeld ends a load after it has taken a meeting of an earlier
// file out of those that were held back: it enters with the next file.
func TestACancelledLoadLosesNothingHeld(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1))
	ctx, cancel := context.WithCancel(t.Context())
	if r, err := s.Load(ctx, &cancelling{strings.NewReader(meeting(2) + "\n"), cancel}, "cancelled"); err == nil {
		t.Fatalf("%+v", r)
	}
	if r, err := s.Load(t.Context(), strings.NewReader(meeting(2)+"\n"+meeting(3)), "again"); err != nil || r.Held != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := s.walk("", s.admin); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("listed: %v", got)
	}
}

// cancelling is a file at whose end a context is cancelled.
type cancelling struct {
	*strings.Reader
	cancel context.CancelFunc
}

func (c *cancelling) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		c.cancel()
	}
	return n, err
}

// TestAHeldMeetingIsSharedWhenItEnters lets a later file bring a meeting in that was held
// back: it has its shares, as one that is finished.
func TestAHeldMeetingIsSharedWhenItEnters(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1))
	if err := s.ShareAll(t.Context(), "you@other.example"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), strings.NewReader(meeting(2)), "later"); err != nil {
		t.Fatal(err)
	}
	if got := s.walk("", s.key("you@other.example")); !slices.Equal(got, []int64{1}) {
		t.Errorf("listed: %v", got)
	}
}

// TestAForgottenMeetingIsNotLoadedAgain loads a file again from which a meeting was forgotten,
// and a directory that has no administrator.
func TestAForgottenMeetingIsNotLoadedAgain(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1), meeting(2))
	if _, err := s.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), strings.NewReader(meeting(1)), "again"); err != nil {
		t.Error(err)
	}
}

// TestTheAdministratorSurvivesADirectory starts a sandbox twice with the same directory, in
// which nobody is an admin.
func TestTheAdministratorSurvivesADirectory(t *testing.T) {
	dir := ArchiveDir(t)
	const directory = `{"users": [{"email": "ann@acme.example", "name": "Ann"}]}`
	admin := ""
	for range 2 {
		a := openTestArchive(t, dir)
		s, err := New(t.Context(), Options{Archive: a, Sandbox: true, Now: time.Now, Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.LoadDirectory(t.Context(), strings.NewReader(directory), "directory"); err != nil {
			t.Fatal(err)
		}
		key, created, err := s.EnsureAdminKey(t.Context())
		if err != nil || created != (admin == "") {
			t.Errorf("created %v, %v", created, err)
		}
		admin = cmp.Or(admin, key)
		r := httptest.NewRequest(http.MethodGet, BasePath+"/meetings", nil)
		r.Header.Set("X-Api-Key", admin)
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("the printed key is answered %d: %s", w.Code, w.Body)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
