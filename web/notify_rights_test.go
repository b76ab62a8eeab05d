package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/notify"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// reader is a member of a team of their own, with a saved search for each of webhook,
// mail and feed, whose right to the second of the team's two walruses ends. The archive
// knows of that at once, and the index does not.
type reader struct {
	why    string
	end    func(s *entrySite, r *reader) error
	person access.Person
	first  int64    // the first walrus; the second one has the next number
	feed   string   // its address
	hooks  []string // the bodies of the webhooks
}

func readersOfWalruses() []*reader {
	return []*reader{
		{why: "made private", end: func(s *entrySite, r *reader) error {
			s.later(r.walrus(1, api.SharedNoTeams))
			return nil
		}},
		{why: "the team is another", end: func(s *entrySite, r *reader) error {
			return s.archive.PutTeamMembers(s.t.Context(), "acme", r.why, nil)
		}},
		{why: "deactivated", end: func(s *entrySite, r *reader) error {
			return s.archive.PutUsers(s.t.Context(), "acme", []api.User{{Email: r.person.Address(), Status: api.StatusDeactivated}})
		}},
		{why: "removed", end: func(s *entrySite, r *reader) error {
			return s.people.RemovePerson(s.t.Context(), access.ActorCommand, r.person.ID)
		}},
		{why: "the address is another", end: func(s *entrySite, r *reader) error {
			err := s.people.AddAddress(s.t.Context(), access.ActorCommand, r.person.ID, "other@acme.example")
			return cmp.Or(err, s.people.RemoveAddress(s.t.Context(), access.ActorCommand, r.person.ID, r.person.Address()))
		}},
		{why: "the searches are deleted", end: func(s *entrySite, r *reader) error {
			return s.changeSearches(r, func(id int64) error { return s.notes.DeleteSaved(s.t.Context(), r.person.ID, id, time.Time{}) })
		}},
		{why: "the searches are others", end: func(s *entrySite, r *reader) error {
			return s.changeSearches(r, func(id int64) error {
				return s.notes.ChangeSaved(s.t.Context(), r.person.ID, id, fmt.Sprint("Other ", id), fmt.Sprintf("walrus %d", r.first), time.Time{})
			})
		}},
		{why: "no address", end: func(s *entrySite, r *reader) error {
			return s.changeSearches(r, func(id int64) error {
				_, err := s.notes.SetNotify(s.t.Context(), r.person.ID, id, "", time.Time{})
				return cmp.Or(err, s.notes.EndFeed(s.t.Context(), r.person.ID, id, time.Time{}))
			})
		}},
	}
}

// changeSearches changes all saved searches of a reader.
func (s *entrySite) changeSearches(r *reader, change func(id int64) error) error {
	all, err := s.notes.Saved(s.t.Context(), r.person.ID)
	for _, saved := range all {
		err = cmp.Or(err, change(saved.ID))
	}
	return err
}

// walrus returns a meeting of the reader's team.
func (r *reader) walrus(i int64, shared string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"recording_id":%d,"title":"Walrus %d","created_at":"2026-06-01T09:00:00Z","recording_start_time":"2026-06-01T09:00:00Z",
		"shared_with":%q,"recorded_by":{"name":"Ana Ruiz","email":"ana@acme.example","team":%q}}`, r.first+i, r.first+i, shared, r.why))
}

// TestNothingIsSentOnceARightHasEnded lets the addresses of people fail, and then ends
// their right to a meeting in every way while the webhook of an earlier meeting is under
// way: no webhook, mail or feed has a word of the meeting from then on.
func TestNothingIsSentOnceARightHasEnded(t *testing.T) {
	t.Parallel()
	checkEndedRights(t, readersOfWalruses())
}

// TestNothingIsSentOfAForgottenMeeting is the same for a meeting that is forgotten.
func TestNothingIsSentOfAForgottenMeeting(t *testing.T) {
	testrun.SkipUnderRace(t) // erasing takes the race detector seconds
	t.Parallel()
	checkEndedRights(t, []*reader{{why: "forgotten", end: func(s *entrySite, r *reader) error {
		_, err := s.archive.Forget(s.t.Context(), r.first+1, "asked to")
		return err
	}}})
}

func checkEndedRights(t *testing.T, readers []*reader) {
	t.Helper()
	var o Options
	s := newEntrySiteWith(t, access.Options{}, func(site *Options) { o = *site })
	s.add("admin@acme.example", true)
	post, status := &mails{err: io.ErrUnexpectedEOF}, http.StatusInternalServerError
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		r := readers[slices.IndexFunc(readers, func(r *reader) bool { return "/"+fmt.Sprint(r.first) == req.URL.Path })]
		if r.hooks = append(r.hooks, string(body)); len(r.hooks) == 2 {
			err = cmp.Or(err, r.end(s, r))
		}
		if err != nil {
			t.Errorf("%s: %v", r.why, err)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(hook.Close)
	o.Mail, o.NotifyClient = post, hook.Client()
	server, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	var walruses []json.RawMessage
	for i, r := range readers {
		r.first = int64(1000 + 10*i)
		walruses = append(walruses, s.watchWalruses(server, r, fmt.Sprintf("%s/%d", hook.URL, r.first))...)
	}
	s.apply(walruses...)
	n := server.newNotifier()
	n.bounds.turns = 1 // the addresses answer in turns
	look := func() {
		later := s.now.Load().Add(2 * time.Hour)
		s.now.Store(&later)
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if len(post.sent) != len(readers) || !strings.Contains(post.sent[0].Text, "Walrus 1001") {
		t.Fatalf("before: %v", post.sent)
	}
	status = http.StatusNoContent
	look()
	failed := len(post.sent)
	post.err = nil
	look()
	look()
	for _, r := range readers {
		r.judge(s, post.sent[failed:])
	}
}

// watchWalruses adds a reader with saved searches, and returns the team's walruses.
func (s *entrySite) watchWalruses(server *server, r *reader, hook string) []json.RawMessage {
	s.t.Helper()
	r.person, _ = s.add(fmt.Sprintf("p%d@acme.example", r.first), false)
	for _, address := range []string{hook, "mailto:" + r.person.Address(), ""} {
		saved, err := server.Notes.Save(s.t.Context(), r.person.ID, "Watch "+address, "walrus")
		var secret string
		if err == nil {
			_, err = server.Notes.SetNotify(s.t.Context(), r.person.ID, saved.ID, address, time.Time{})
		}
		if err == nil && address == "" {
			secret, err = server.Notes.MakeFeed(s.t.Context(), r.person.ID, saved.ID, time.Time{})
			r.feed = s.URL + "/feeds/" + secret
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.archive.PutTeamMembers(s.t.Context(), "acme", r.why, []api.TeamMember{{Email: r.person.Address()}}); err != nil {
		s.t.Fatal(err)
	}
	return []json.RawMessage{r.walrus(0, api.SharedSingleTeam), r.walrus(1, api.SharedSingleTeam)}
}

// judge reads all that the reader was told since the right ended.
func (r *reader) judge(s *entrySite, mails []notify.Message) {
	first, second := fmt.Sprintf("Walrus %d", r.first), fmt.Sprintf("Walrus %d", r.first+1)
	if len(r.hooks) != 2 || !strings.Contains(r.hooks[1], first) {
		s.t.Errorf("%s: webhooks: %q", r.why, r.hooks)
	}
	_, _, feed := s.feedOf(s.t.(*testing.T), r.feed)
	said := append(r.hooks, feed)
	for _, m := range mails {
		said = append(said, m.Title, m.Text)
	}
	for _, text := range said {
		if strings.Contains(text, second) || strings.Contains(text, fmt.Sprintf("/meetings/%d", r.first+1)) {
			s.t.Errorf("%s: the reader is told of the meeting: %s", r.why, text)
		}
	}
}
