package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/internal/notify"
	"minutebook/internal/testrun"
	"minutebook/web/notice"
)

// mails keeps the mails that are sent.
type mails struct {
	err    error
	during func() // is called while a mail is sent
	sent   []notify.Message
	to     []string
}

func (m *mails) SendTo(_ context.Context, message notify.Message, to ...string) error {
	if m.sent, m.to = append(m.sent, message), append(m.to, to...); m.during != nil {
		m.during()
	}
	return m.err
}

// TestMailsOfManyArrivals lets more meetings arrive than fit in a mail: each comes once, in
// one of several mails.
func TestMailsOfManyArrivals(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	post := &mails{}
	s.server.Mail, s.server.MailOwner = post, []string{"me@own.example"}
	saved, _ := s.saveWithHook("Walrus", "mailto:me@own.example")
	s.saveWithHook("Again", "mailto:me@own.example")
	s.apply(walruses(10, 17)...)
	s.catchUp()
	n := s.server.newNotifier()
	n.bounds.page, n.bounds.pages = 3, 2
	for range 5 {
		if err := n.look(t.Context()); err != nil || n.fails[saved.ID].times > 0 {
			t.Fatal(err, n.fails)
		}
		later := s.now.Load().Add(20 * time.Minute)
		s.now.Store(&later)
	}
	text := ""
	for _, m := range post.sent {
		text += m.Text
	}
	if got := strings.Count(text, "Walrus, 10 June 2026"); len(post.sent) < 3 || got != 16 {
		t.Errorf("%d mails name %d matches, want 16 in at least 3", len(post.sent), got)
	}
}

// TestSavedSearchesTellWhenNoMailIsSent takes the settings of mail out of an archive whose
// searches are mailed.
func TestSavedSearchesTellWhenNoMailIsSent(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	s.server.Mail, s.server.MailOwner = &mails{}, []string{"me@own.example"}
	s.saveWithHook("Walrus", "mailto:me@own.example")
	const sent, waits = "New meetings are mailed to <bdi>me@own.example</bdi>", "wait to be mailed to <bdi>me@own.example</bdi>: this archive sends no mail at present."
	if body := s.shows(200, "/saved", sent, "Stop the mails"); strings.Contains(body, waits) {
		t.Error("mails are said to wait while the archive sends them")
	}
	s.server.Mail = nil
	if body := s.shows(200, "/saved", waits, "Stop the mails"); strings.Contains(body, sent) {
		t.Error("mails are said to be sent by an archive that sends none")
	}
}

// unsubscribes ends mails by the link in one, without a session, as mail programs and as
// people do, and asks for those of both searches again.
func (s *site) unsubscribes(mail notify.Message) {
	s.t.Helper()
	link := strings.TrimPrefix(mail.Unsubscribe, "https://example.org/minutebook")
	if !strings.HasPrefix(link, notice.UnsubscribePath) || !strings.Contains(mail.Text, mail.Unsubscribe) {
		s.t.Fatalf("the link is %q in\n%s", mail.Unsubscribe, mail.Text)
	}
	s.shows(200, link, "End the mails?", "me@own.example")
	for _, wrong := range []string{link + "x", link[:len(link)-1], strings.Replace(link, "/1.", "/2.", 1), notice.UnsubscribePath + "1", notice.UnsubscribePath + "1."} {
		s.shows(404, wrong, "This link ends no mails")
		if resp, _ := s.submit(wrong, "List-Unsubscribe=One-Click"); resp.StatusCode != 404 {
			s.t.Errorf("%s is answered %s", wrong, resp.Status)
		}
	}
	if all, err := s.server.Notes.SavedWithNotify(s.t.Context()); err != nil || len(all) != 2 {
		s.t.Errorf("before the mails end: %v, %v", all, err)
	}
	if resp, body := s.submit(link, "List-Unsubscribe=One-Click"); resp.StatusCode != 200 || !strings.Contains(body, "The mails have ended") {
		s.t.Errorf("%s\n%s", resp.Status, body)
	}
	if all, err := s.server.Notes.SavedWithNotify(s.t.Context()); err != nil || len(all) != 0 {
		s.t.Errorf("the mails go on: %v, %v", all, err)
	}
	for id := range 2 {
		s.submit(fmt.Sprintf("/saved/%d/notify", id+1), "address=mailto:me@own.example")
	}
	s.shows(404, link, "This link ends no mails") // the mails were asked for again
}

// TestMailsOfSavedSearches sends a person one mail for all searches, again with the same id
// when it failed, until the mails are ended on the page.
func TestMailsOfSavedSearches(t *testing.T) {
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	post := &mails{err: io.ErrUnexpectedEOF}
	s.server.Mail, s.server.MailOwner, s.server.PageURL = post, []string{"me@own.example"}, "https://example.org/minutebook/"
	for i, name := range []string{"Walrus", "Again"} {
		saved, err := s.server.Notes.Save(t.Context(), 0, name, "walrus")
		if err != nil {
			t.Fatal(err)
		}
		address := fmt.Sprintf("/saved/%d/notify", saved.ID)
		if resp, _ := s.submit(address, "address=mailto:them@own.example"); resp.StatusCode != 422 {
			t.Errorf("another's address: %s", resp.Status)
		}
		if resp, body := s.submit(address, "address=mailto:me@own.example"); resp.StatusCode != 303 {
			t.Fatalf("%d: %s\n%s", i, resp.Status, body)
		}
	}
	s.shows(200, "/saved", "mailed to", "me@own.example", "Stop the mails")
	s.apply(meeting(2, "New walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"The walrus sings.","timestamp":"00:02:05"}]`))
	s.catchUp()
	n := s.server.newNotifier()
	look := func(want int) {
		t.Helper()
		if err := n.look(t.Context()); err != nil || len(post.sent) != want {
			t.Fatalf("%d mails, want %d: %v", len(post.sent), want, err)
		}
		later := s.now.Load().Add(20 * time.Minute)
		s.now.Store(&later)
	}
	look(1)
	post.err = nil
	look(2)
	if post.sent[0].ID != post.sent[1].ID || post.to[1] != "me@own.example" {
		t.Errorf("%q and %q to %q", post.sent[0].ID, post.sent[1].ID, post.to)
	}
	for _, want := range []string{"New walrus, 10 June 2026", "Bo: The walrus sings.", "https://example.org/minutebook/meetings/2?t=125", "https://example.org/minutebook/saved"} {
		if !strings.Contains(post.sent[1].Text, want) {
			t.Errorf("no %q in\n%s", want, post.sent[1].Text)
		}
	}
	look(2)
	s.unsubscribes(post.sent[1])
	s.submit("/saved/1/notify", "address=")
	s.server.MailOwner = nil // no address is the owner's any more
	s.apply(meeting(3, "Third walrus", "2026-06-11T09:00:00Z", ""))
	s.catchUp()
	look(2)
	if all, err := s.server.Notes.SavedWithNotify(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("an address that is nobody's is kept: %v, %v", all, err)
	}
}

// TestAChangeDuringATurnIsKept changes saved searches while they are told of a match: an
// answer about the earlier address or query changes nothing of the later one.
func TestAChangeDuringATurnIsKept(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	ctx, db := t.Context(), s.server.Notes
	h := newHook(t)
	saved, _ := s.saveWithHook("Hook", h.URL)
	mailed, _ := s.saveWithHook("Mail", "mailto:me@own.example")
	post := &mails{during: func() {
		s.apply(meeting(12, "Late walrus", "2026-06-10T09:00:00Z", ""))
		if err := db.ChangeSaved(ctx, 0, mailed.ID, "Mail", "old", time.Time{}); err != nil {
			t.Error(err)
		}
	}}
	s.server.Mail, s.server.MailOwner, s.server.NotifyClient = post, []string{"me@own.example"}, h.Client()
	hooks, err := db.SavedByID(ctx, 0, saved.ID)
	if err != nil {
		t.Fatal(err)
	}
	h.secret = hooks.Secret
	h.answer = func() int {
		if _, err := db.SetNotify(ctx, 0, saved.ID, h.URL+"/other", time.Time{}); err != nil {
			t.Error(err)
		}
		return http.StatusGone
	}
	s.apply(walruses(10, 11)...)
	s.catchUp()
	if err := s.server.newNotifier().look(ctx); err != nil || len(post.sent) != 1 || len(h.ids) != 1 {
		t.Fatalf("%d mails, %d webhooks: %v", len(post.sent), len(h.ids), err)
	}
	if now, err := db.SavedByID(ctx, 0, saved.ID); err != nil || now.Notify != h.URL+"/other" {
		t.Errorf("the address that was given during the turn is %q now: %v", now.Notify, err)
	}
	head, err := s.archive.Head(ctx)
	if now, again := db.SavedByID(ctx, 0, mailed.ID); err != nil || again != nil || now.Seen != head {
		t.Errorf("the query that was given at %v goes on from %v: %v, %v", head, now.Seen, err, again)
	}
}

// TestAMailNamesNothingThatIsHiddenMeanwhile forgets a meeting after the search of a mail has
// found it, and then takes the address away after a search has found another one.
func TestAMailNamesNothingThatIsHiddenMeanwhile(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	post, ctx := &mails{}, t.Context()
	s.server.Mail, s.server.MailOwner = post, []string{"me@own.example"}
	s.saveWithHook("Walrus", "mailto:me@own.example")
	n := s.server.newNotifier()
	// mailed sends a mail of the matches that were found before something happened.
	mailed := func(want int, meanwhile func() error) error {
		t.Helper()
		s.catchUp()
		queue, err := s.notes.SavedWithNotify(ctx)
		must(t, err)
		found, err := n.collect(ctx, queue)
		if err != nil || len(found) != 1 || len(found[0].Matches) != want {
			t.Fatalf("%+v are found, %v", found, err)
		}
		must(t, meanwhile())
		_, err = n.sendMail(ctx, "me@own.example", queue, found)
		return err
	}
	forget := func(id int64) func() error {
		return func() error { _, err := s.archive.Forget(ctx, id, "asked to"); return err }
	}
	s.apply(walruses(10, 11)...)
	must(t, mailed(2, forget(10)))
	if len(post.sent) != 1 || !strings.HasPrefix(post.sent[0].Title, "1 meeting new") || strings.Count(post.sent[0].Text, "Walrus, 10 June 2026") != 1 {
		t.Errorf("of two meetings, one of which was forgotten: %+v", post.sent)
	}
	s.apply(walruses(12, 12)...)
	must(t, mailed(1, forget(12)))
	s.apply(walruses(13, 13)...)
	err := mailed(1, func() error { s.server.MailOwner = nil; return nil })
	if all, again := s.notes.SavedWithNotify(ctx); again != nil || len(all) > 0 || !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("an address that is nobody's is kept: %v, %v, %v", all, again, err)
	}
	if len(post.sent) != 1 {
		t.Errorf("a mail of nothing, or to nobody: %+v", post.sent[1:])
	}
}
