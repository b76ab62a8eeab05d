package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
)

// A callback is an answer to a person: once the person sees the meeting no more,
// it is not sent any more, whatever it waits for. Whether a webhook fires is
// decided when the meeting is finalised (6.1), so a share that narrows later does
// not matter; but nothing goes to somebody who is not active.
func TestNothingIsSentToWhoLostTheRight(t *testing.T) {
	const lead = "lead@acme.example"
	directory := func(replace ...string) func(*sandbox) error {
		return func(s *sandbox) error {
			return s.LoadDirectory(t.Context(), strings.NewReader(strings.NewReplacer(replace...).Replace(acme)), "acme")
		}
	}
	for name, c := range map[string]struct {
		lose     func(*sandbox) error
		callback bool // is still sent
		webhook  bool
	}{
		"nothing is lost": {func(*sandbox) error { return nil }, true, true},
		"another view": {directory(`"view_access": {"level": "team", "teams": ["Sales"]}`, `"view_access": {"level": "own_meetings", "teams": []}`),
			false, true},
		"the team is dissolved": {directory(`{"name": "Sales", "created_at": "2025-01-01T00:00:00Z"}, `, "", `"teams": ["Sales"]`, `"teams": []`), false, true},
		"deactivated":           {func(s *sandbox) error { return s.SetUserStatus(t.Context(), lead, "deactivated") }, false, false},
		"removed":               {directory(`{"email": "`+lead+`", "name": "Lead", "permissions": {"settings_access": {"level": "team_admin", "teams": ["Sales"]}, "view_access": {"level": "team", "teams": ["Sales"]}}},`, ""), false, false},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", restarted"}[restart], func(t *testing.T) {
				s := newAcme(t, Options{})
				status := 500
				in := newInbox(t, func(int) int { return status })
				key := s.key(lead)
				s.get("/recordings/3/summary?destination_url="+in.URL, key, 200)
				s.call(http.MethodPost, "/recordings/3/download", key, `{"destination_url": "`+in.URL+`"}`)
				s.webhook(key, in.URL, `"shared_team_recordings"`)
				s.fire(3)
				send := func() (kinds []string) {
					t.Helper()
					for _, o := range s.dueNow() {
						if err := s.attempt(t.Context(), &o); err != nil {
							t.Fatal(err)
						}
					}
					for len(in.got) > 0 {
						kinds = append(kinds, (<-in.got).kind())
					}
					return kinds
				}
				if kinds := send(); len(kinds) != 3 {
					t.Fatalf("sent first: %v", kinds)
				}
				if err := c.lose(s); err != nil {
					t.Fatal(err)
				}
				status = 200
				s.clock.add(time.Hour)
				if restart {
					s.restart()
				}
				sent := strings.Join(send(), " ")
				if got := strings.Contains(sent, "summary"); got != c.callback {
					t.Errorf("the summary was sent: %t, want %t", got, c.callback)
				}
				if got := strings.Contains(sent, "download"); got != c.callback {
					t.Errorf("the download was sent: %t, want %t", got, c.callback)
				}
				if got := strings.Contains(sent, "webhook"); got != c.webhook {
					t.Errorf("the webhook was sent: %t, want %t", got, c.webhook)
				}
				s.clock.add(48 * time.Hour)
				send()
				var bodies int
				err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM deliveries WHERE state = 'pending' OR body IS NOT NULL`).Scan(&bodies)
				if err != nil || bodies != 0 {
					t.Errorf("%d deliveries still wait, %v", bodies, err)
				}
			})
		}
	}
}

// TestARowOfAnUnknownOwnerWaits has the owner of a webhook missing in the directory when its
// row is due, as between two lists, or neither active nor deactivated there, and then back.
func TestARowOfAnUnknownOwnerWaits(t *testing.T) {
	const lead = "lead@acme.example"
	for _, c := range []struct{ before, after string }{{"", api.StatusActive}, {"", api.StatusDeactivated},
		{api.StatusInvited, api.StatusActive}, {api.StatusInvited, api.StatusDeactivated}, {api.StatusInvited, ""}} {
		s := newAcme(t, Options{})
		in := newInbox(t, func(int) int { return 200 })
		s.webhook(s.key(lead), in.URL, `"shared_team_recordings"`)
		s.fire(3)
		if due := s.dueNow(); len(due) != 1 {
			t.Fatalf("%d rows are due", len(due))
		}
		become := func(status string) {
			t.Helper()
			directory := acme
			if status == "" {
				directory = strings.Replace(acme, `"lead@acme.example"`, `"other@acme.example"`, 1)
			}
			err := s.LoadDirectory(t.Context(), strings.NewReader(directory), "acme")
			if err == nil && status != "" {
				err = s.SetUserStatus(t.Context(), lead, status)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		send := func() int {
			t.Helper()
			for _, o := range s.dueNow() {
				if err := s.attempt(t.Context(), &o); err != nil {
					t.Fatal(err)
				}
			}
			return len(in.got)
		}
		become(c.before)
		if n := send(); n != 0 || len(s.dueNow()) != 0 {
			t.Errorf("%+v: %d were sent before, and %d are due again at once", c, n, len(s.dueNow()))
		}
		become(c.after)
		s.clock.add(time.Hour)
		if n := send(); (n == 1) != (c.after == api.StatusActive) {
			t.Errorf("%+v: %d were sent after", c, n)
		}
		s.clock.add(unknownLimit)
		send()
		if list, err := s.Deliveries(t.Context(), "pending", 10); err != nil || len(list) != 0 {
			t.Errorf("%+v: still waiting: %+v, %v", c, list, err)
		}
	}
}

// kind returns the kind of the delivery: a webhook, a download or a summary.
func (d delivery) kind() string {
	switch {
	case d.header.Get("webhook-id") != "":
		return "webhook"
	case strings.Contains(string(d.body), "download_id"):
		return "download"
	}
	return "summary"
}

// fire queues the webhooks of a meeting as if it finished now.
func (s *sandbox) fire(id int64) {
	s.t.Helper()
	tx, err := s.store.db.W.BeginTx(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.decideEvent(s.t.Context(), tx, event{recordingID: id}); err != nil {
		s.t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		s.t.Fatal(err)
	}
}

// restart closes the archive and goes on with a new service over it.
func (s *sandbox) restart() {
	s.t.Helper()
	dir := s.archive.Dir()
	if err := s.archive.Close(); err != nil {
		s.t.Fatal(err)
	}
	var err error
	s.Service, err = New(s.t.Context(), Options{Archive: openTestArchive(s.t, dir), Sandbox: s.opts.Sandbox, AllowPrivate: true, Now: s.clock.Now, Logger: zerolog.Nop()})
	if err != nil {
		s.t.Fatal(err)
	}
}

// An account whose key was exchanged shows its person nothing before the next
// walk. The lists of the earlier holder do not speak of the new one's rights,
// so a webhook waits for that walk instead of being skipped.
func TestAWebhookWaitsForTheListsOfTheNewHolder(t *testing.T) {
	a := openTestArchive(t, ArchiveDir(t))
	account := archive.AccountSetting{Name: "anns", Email: "ann@acme.example", Credential: "1", Queries: []string{""}}
	if err := a.SetAccounts(t.Context(), []archive.AccountSetting{account}); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Options{Archive: a})
	s.hookOf("ann@acme.example")
	arrive(t, a, archive.SourceList, delivered(9)) // since when the account is read
	noSummary := append(recordedBy("bob", "Support"), "shared_with", `"no_teams"`, "default_summary", "null", "transcript", "null")
	arrive(t, a, archive.SourceList, newer(10, noSummary...))
	s.caughtUp(t)
	account.Credential = "2"
	if err := a.SetAccounts(t.Context(), []archive.AccountSetting{account}); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceWebhook, delivered(10))
	s.caughtUp(t)
	arriveAt(t, a, "anns", archive.SourceList, testStart.Add(time.Minute), delivered(10))
	s.caughtUp(t)
	if got := s.queued(); !strings.HasSuffix(got, "10") {
		t.Errorf("sent %q, want 10 too", got)
	}
}

// A recording that is being sent ends with the right to see it, and with the
// meeting when it is forgotten, however slowly it is read.
func TestAStreamEndsWithTheRight(t *testing.T) {
	for name, end := range map[string]func(*sandbox) error{
		"deactivated": func(s *sandbox) error { return s.SetUserStatus(t.Context(), s.AdminEmail(), "deactivated") },
		"forgotten": func(s *sandbox) error {
			_, err := s.archive.Forget(t.Context(), 1, "asked to")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, Options{Video: func() (io.ReadSeeker, string) {
				return io.NewSectionReader(zeros{}, 0, 1<<30), "video/mp4"
			}}, meeting(1))
			s.timeouts.judge = 10 * time.Millisecond
			server := httptest.NewServer(s.Handler())
			t.Cleanup(server.Close)
			resp, err := http.Get(server.URL + s.mediaLink())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
				t.Fatal(err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // the judgement before holds for so long
			if n, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Errorf("%d more bytes came, to the end", n)
			}
		})
	}
}

// A share that becomes limited ends the rights given before it: the download, its
// link, and the callback that waits (4.5). A limited share with a team is limited
// for who views all teams, and the recorder needs no share.
func TestALimitedShareEndsDownloads(t *testing.T) {
	s := newAcme(t, Options{})
	in := newInbox(t, func(int) int { return 500 })
	share := func(id int64, principal string, level archive.ShareLevel) {
		t.Helper()
		if err := s.archive.SetShares(t.Context(), id, map[string]archive.ShareLevel{principal: level}); err != nil {
			t.Fatal(err)
		}
	}
	ann, boss := s.key("ann@acme.example"), s.key("boss@acme.example")
	share(2, "user:ann@acme.example", archive.ShareStandard)
	a := s.call(http.MethodPost, "/recordings/2/download", ann, `{"destination_url": "`+in.URL+`"}`)
	var d api.Download
	a.decode(t, &d)
	path := "/recordings/2/downloads/" + d.DownloadID
	s.get(path, ann, 200).decode(t, &d)
	link := strings.TrimPrefix(d.Video.Or(api.DownloadFile{}).URL, "http://example.com"+BasePath)
	s.get(link, "", 200)
	share(2, "user:ann@acme.example", archive.ShareLimited)
	s.get(path, ann, 404)
	s.get(link, "", 403)
	for _, o := range s.dueNow() {
		if err := s.attempt(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.got) > 0 {
		t.Errorf("sent %s", (<-in.got).body)
	}
	for _, c := range []struct {
		id        int64
		principal string
		level     archive.ShareLevel
		key       string
		want      int
	}{
		{2, "team:Support", archive.ShareLimited, boss, 403}, {2, "team:Support", archive.ShareStandard, boss, 202},
		{4, "team:Support", archive.ShareLimited, boss, 202}, {1, "user:ann@acme.example", archive.ShareLimited, ann, 202},
	} {
		share(c.id, c.principal, c.level)
		if a := s.call(http.MethodPost, fmt.Sprintf("/recordings/%d/download", c.id), c.key, ""); a.status != c.want {
			t.Errorf("download of %d, shared with %s: %d %s, want %d", c.id, c.principal, a.status, a.body, c.want)
		}
	}
}

// A list of users lacks a level of somebody's permissions: an answer has both.
func TestPermissionsAreAnsweredWithBothLevels(t *testing.T) {
	s, a := newOverlay(t)
	given := map[string]api.Permissions{
		"kim@acme.example": {ViewAccess: api.Access{Level: api.ViewAllTeams}},
		"lee@acme.example": {SettingsAccess: api.Access{Level: api.SettingsTeamAdmin}},
	}
	var users []api.User
	for email, p := range given {
		users = append(users, api.User{Email: email, Status: api.StatusActive, Permissions: api.Some(p)})
	}
	if err := a.PutUsers(t.Context(), "anns", users); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(t)
	for email, want := range map[string][2]string{
		"kim@acme.example": {api.SettingsNone, api.ViewAllTeams},
		"lee@acme.example": {api.SettingsTeamAdmin, api.ViewOwnMeetings},
	} {
		p := s.mirror.Person(email).User.Permissions.Or(api.Permissions{})
		if got := [2]string{p.SettingsAccess.Level, p.ViewAccess.Level}; got != want {
			t.Errorf("%s has %v, want %v", email, got, want)
		}
	}
}
