package web

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/archive/notes"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/web/access"
)

// hook is an address that notifications are sent to. Its fields are read between looks,
// those of a look that ended before an answer came by accepted.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	status int
	answer func() int // instead of status
	ids    []string
	bodies []string
}

func newHook(t *testing.T) *hook {
	h := &hook{status: 204}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		wh, err := standardwebhooks.NewWebhook(h.secret)
		if err == nil {
			err = wh.VerifyIgnoringTimestamp(body, r.Header)
		}
		if err != nil {
			t.Errorf("a notification is not signed: %v", err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ids, h.bodies = append(h.ids, r.Header.Get("Webhook-Id")), append(h.bodies, string(body))
		if h.answer != nil {
			h.status = h.answer()
		}
		w.WriteHeader(h.status)
	}))
	t.Cleanup(h.Close)
	return h
}

// accepted returns how many different notifications have come.
func (h *hook) accepted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(slices.Compact(slices.Sorted(slices.Values(h.ids))))
}

// TestNotifications saves a search, lets meetings arrive, and reads the deliveries to its
// address.
func TestNotifications(t *testing.T) {
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	saved, err := s.server.Notes.Save(t.Context(), 0, "Walrus", "walrus")
	if err != nil {
		t.Fatal(err)
	}
	h := newHook(t)
	if h.secret, err = s.server.Notes.SetNotify(t.Context(), 0, saved.ID, h.URL+"/secret-path", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.server.NotifyClient, s.server.PageURL = h.Client(), "https://example.org/minutebook/"
	n := s.server.newNotifier()
	look := func(want int) {
		t.Helper()
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(h.ids) != want {
			t.Fatalf("%d notifications, want %d: %s", len(h.ids), want, h.bodies)
		}
	}
	look(0)
	s.apply(meeting(2, "New walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"The walrus sings.","timestamp":"00:02:05"}]`),
		meeting(3, "Nothing of it", "2026-06-11T09:00:00Z", ""))
	h.status = 500
	look(1)
	look(1) // it waits
	h.status = 204
	later := s.now.Load().Add(2 * time.Minute)
	s.now.Store(&later)
	look(2)
	if h.ids[0] != h.ids[1] {
		t.Errorf("a second attempt has another id: %q", h.ids)
	}
	for _, want := range []string{`"type":"saved_search.matched"`, `"recording_id":2`, `"speaker":"Bo"`, `"url":"https://example.org/minutebook/meetings/2?t=125&q=walrus#e0"`} {
		if !strings.Contains(h.bodies[1], want) {
			t.Errorf("no %s in %s", want, h.bodies[1])
		}
	}
	look(2)
	s.later(meeting(3, "Nothing of it, but a walrus", "2026-06-11T09:00:00Z", ""))
	s.catchUp()
	look(3)
	h.status = http.StatusGone
	s.apply(meeting(4, "A walrus too many", "2026-06-12T09:00:00Z", ""))
	look(4)
	s.apply(meeting(5, "Another walrus", "2026-06-12T09:00:00Z", ""))
	look(4)
	if all, err := s.server.Notes.SavedWithNotify(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("an address that is gone is kept: %v, %v", all, err)
	}
}

// TestNotificationsOfTheLongestSearch saves a search of as many parts as a query may have:
// it is notified of a meeting as any other.
func TestNotificationsOfTheLongestSearch(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	saved, err := s.server.Notes.Save(t.Context(), 0, "Walrus", strings.TrimSpace(strings.Repeat("walrus ", 128)))
	if err != nil {
		t.Fatal(err)
	}
	s.apply(meeting(2, "New walrus", "2026-06-10T09:00:00Z", ""), meeting(3, "Nothing", "2026-06-10T09:00:00Z", ""))
	found, err := s.server.newNotifier().match(t.Context(), archive.Viewer{All: true}, saved, []int64{2, 3})
	if err != nil || len(found) != 1 || found[0].RecordingID != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestAPanicFailsTheTurnAlone has the notifier panic: its searches are tried again later, and
// the look goes on.
func TestAPanicFailsTheTurnAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for _, to := range []string{"https://example.org/hook", "mailto:ann@example.org"} {
		saved, err := s.server.Notes.Save(t.Context(), 0, to, "walrus")
		if err == nil {
			_, err = s.server.Notes.SetNotify(t.Context(), 0, saved.ID, to, time.Time{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.server.Mail, s.server.MailOwner, s.server.Roster = &mails{}, []string{"ann@example.org"}, nil
	n := s.server.newNotifier()
	if err := n.look(t.Context()); err != nil || len(n.fails) != 2 {
		t.Errorf("%v, %+v", err, n.fails)
	}
}

// TestNotificationsKeepRights tells a person only of meetings that the person sees, and of
// none once the person is out; an address in a private network is never called.
func TestNotificationsKeepRights(t *testing.T) {
	var o Options
	s := newEntrySiteWith(t, access.Options{}, func(site *Options) { o = *site })
	s.add("admin@acme.example", true)
	ann, _ := s.add("ann@acme.example", false)
	server, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := server.Notes.Save(t.Context(), ann.ID, "Walrus", "walrus")
	if err != nil {
		t.Fatal(err)
	}
	h := newHook(t)
	if h.secret, err = server.Notes.SetNotify(t.Context(), ann.ID, saved.ID, h.URL, time.Time{}); err != nil {
		t.Fatal(err)
	}
	mine, theirs := `"shared_with":"no_teams","recorded_by":{"name":"Ann","email":"ann@acme.example"}`, `"shared_with":"no_teams","recorded_by":{"name":"Bob","email":"bob@acme.example"}`
	s.apply(meeting(81, "Ann's walrus", "2026-06-01T09:00:00Z", mine), meeting(82, "Bob's walrus", "2026-06-02T09:00:00Z", theirs))
	guarded := server.newNotifier()
	if err := guarded.look(t.Context()); err != nil || len(h.ids) > 0 || guarded.fails[saved.ID].times != 1 {
		t.Errorf("a private address: %v, %q, %v", err, h.ids, guarded.fails)
	}
	server.NotifyClient = h.Client()
	if err := server.newNotifier().look(t.Context()); err != nil || len(h.ids) != 1 || !strings.Contains(h.bodies[0], `"recording_id":81`) {
		t.Errorf("%v, %q", err, h.bodies)
	}
	if err := s.people.RemovePerson(t.Context(), "command", ann.ID); err != nil {
		t.Fatal(err)
	}
	s.apply(meeting(83, "Ann's next walrus", "2026-06-03T09:00:00Z", mine))
	if err := server.newNotifier().look(t.Context()); err != nil || len(h.ids) != 1 {
		t.Errorf("a person who was removed is told: %v, %q", err, h.bodies)
	}
	if _, err := server.viewerOfPerson(t.Context(), 0); err == nil || slices.Contains(h.ids, "") {
		t.Error("the owner's searches go on where people sign in")
	}
}

// saveWithHook saves a search for walruses of the owner and has it notified at an address.
func (s *site) saveWithHook(name, address string) (saved notes.SavedSearch, secret string) {
	s.t.Helper()
	saved, err := s.server.Notes.Save(s.t.Context(), 0, name, strings.Repeat("walrus ", 8)) // as many words as a question has
	if err == nil {
		secret, err = s.server.Notes.SetNotify(s.t.Context(), 0, saved.ID, address, time.Time{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return saved, secret
}

// walruses are meetings that arrive together.
func walruses(from, to int64) (meetings []json.RawMessage) {
	for id := from; id <= to; id++ {
		meetings = append(meetings, meeting(id, "Walrus", "2026-06-10T09:00:00Z", ""))
	}
	return meetings
}

// TestNotificationsOfManyMeetings lets more meetings arrive than are matched together, with
// an address that fails in between and a restart: each is accepted once, by the same id.
func TestNotificationsOfManyMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	h := newHook(t)
	_, h.secret = s.saveWithHook("Walrus", h.URL)
	s.server.NotifyClient = h.Client()
	s.apply(walruses(10, 17)...)
	s.catchUp()
	h.answer = func() int {
		if len(h.ids) == 5 {
			return 500
		}
		return 204
	}
	for range 2 { // a restart in between
		n := s.server.newNotifier()
		n.bounds.page = 3
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.ids) != 9 || h.ids[4] != h.ids[5] {
		t.Fatalf("%d requests: %q", len(h.ids), h.ids)
	}
	slices.Sort(h.ids)
	if each := slices.Compact(h.ids); len(each) != 8 {
		t.Errorf("%d of 8 meetings were notified", len(each))
	}
}

// TestNotificationsWaitForTheIndex looks while the index is still to be built: the meeting
// that has arrived is notified once it is found.
func TestNotificationsWaitForTheIndex(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	h := newHook(t)
	_, h.secret = s.saveWithHook("Walrus", h.URL)
	s.server.NotifyClient = h.Client()
	s.store(meeting(2, "New walrus", "2026-06-10T09:00:00Z", ""))
	next, err := search.Open(t.Context(), search.Options{Archive: s.archive, Dir: t.TempDir(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { next.Close() })
	s.server.Index = next
	for _, want := range []int{0, 1} {
		if err := s.server.newNotifier().look(t.Context()); err != nil || len(h.ids) != want {
			t.Errorf("%d notifications, want %d: %v", len(h.ids), want, err)
		}
		if err := next.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowAddressHoldsNobodyUp lets more addresses than have a turn at once never answer.
func TestSlowAddressHoldsNobodyUp(t *testing.T) {
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	release := make(chan struct{})
	slow := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	for i := range 3 {
		s.saveWithHook(fmt.Sprint("Slow ", i), fmt.Sprint(slow.URL, "/", i))
	}
	h := newHook(t)
	_, h.secret = s.saveWithHook("Walrus", h.URL)
	s.apply(walruses(10, 11)...)
	s.catchUp()
	s.server.NotifyClient = h.Client() // it trusts both: httptest has one certificate
	n := s.server.newNotifier()
	n.bounds.turns, n.bounds.retry, n.bounds.most = 2, 0, 0
	for turn := 50 * time.Millisecond; h.accepted() < 2 && turn < time.Minute; turn *= 2 { // a busy machine needs longer
		n.bounds.turn, n.bounds.look = turn, turn*3/2
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.accepted(); n != 2 {
		t.Errorf("the address that answers got %d notifications", n)
	}
}

// TestARestoreNotifiesNoHistory has a meeting that matches a saved search and came before the
// search got its first address.
func TestARestoreNotifiesNoHistory(t *testing.T) {
	s := newSite(t)
	saved, err := s.server.Notes.Save(t.Context(), 0, "Walrus", "walrus")
	if err != nil {
		t.Fatal(err)
	}
	s.apply(meeting(1, "A walrus before the address", "2026-02-10T09:00:00Z", ""))
	h := newHook(t)
	if h.secret, err = s.server.Notes.SetNotify(t.Context(), 0, saved.ID, h.URL, time.Time{}); err != nil {
		t.Fatal(err)
	}
	dest, back := filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "back")
	if _, err := backup.Run(t.Context(), s.archive, dest, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: dest, Dir: back, Logger: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	r := openSite(t, back)
	r.catchUp()
	r.server.NotifyClient = h.Client()
	if err := r.server.newNotifier().look(t.Context()); err != nil || len(h.ids) != 0 {
		t.Errorf("history is notified after a restore: %v, %q", err, h.bodies)
	}
}

// siteOnClock is a site whose archive, saved searches and notifier go by a clock, and a saved
// search for walruses in it.
func siteOnClock(t *testing.T, clock *time.Time) (s *site, saved notes.SavedSearch) {
	t.Helper()
	s = openSiteWith(t, archive.Options{Dir: archivetest.Dir(t), Now: func() time.Time { return *clock }})
	s.catchUp()
	s.now.Store(clock)
	saved, err := s.server.Notes.Save(t.Context(), notes.Owner, "Walrus", "walrus")
	if err != nil {
		t.Fatal(err)
	}
	return s, saved
}

// notifyHook has a saved search notified at a hook.
func (s *site) notifyHook(h *hook, saved notes.SavedSearch) {
	s.t.Helper()
	secret, err := s.server.Notes.SetNotify(s.t.Context(), saved.Person, saved.ID, h.URL, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	h.secret, s.server.NotifyClient = secret, h.Client()
}

// TestAnOldMeetingThatChangesIsNotNotified changes meetings that were there before a search got its
// first address, or its query.
func TestAnOldMeetingThatChangesIsNotNotified(t *testing.T) {
	testrun.SkipUnderRace(t)
	clock := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	s, walrus := siteOnClock(t, &clock)
	seal, err := s.server.Notes.Save(t.Context(), notes.Owner, "Seal", "seal")
	if err != nil {
		t.Fatal(err)
	}
	h := newHook(t)
	s.notifyHook(h, seal)
	n := s.server.newNotifier()
	look := func(want int) {
		t.Helper()
		if err := n.look(t.Context()); err != nil || len(h.ids) != want {
			t.Fatalf("%d notifications, want %d: %v, %q", len(h.ids), want, err, h.bodies)
		}
	}
	clock = clock.AddDate(0, 1, 0)
	s.apply(meeting(1, "A walrus of February", "2026-02-10T09:00:00Z", ""))
	look(0)
	clock = clock.AddDate(0, 4, 0)
	if err := s.server.Notes.ChangeSaved(t.Context(), notes.Owner, seal.ID, "Walrus too", "walrus", time.Time{}); err != nil {
		t.Fatal(err)
	}
	look(0)
	clock = clock.AddDate(0, 0, 1)
	s.later(meeting(1, "A walrus of February", "2026-02-10T09:00:00Z", `"meeting_type":"First"`))
	s.catchUp()
	look(0)
	if err := s.server.Notes.ChangeSaved(t.Context(), notes.Owner, seal.ID, "Seal", "seal", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.notifyHook(h, walrus)
	s.later(meeting(1, "A walrus of February", "2026-02-10T09:00:00Z", `"meeting_type":"Second"`))
	s.catchUp()
	look(0)
	s.apply(meeting(2, "A new walrus", "2026-06-10T09:00:00Z", ""))
	look(1)
}

// TestASearchSavedWithTheClockAhead sets the clock right, by a year, after a search was saved.
// In one case an earlier version had saved it, which kept the time alone.
func TestASearchSavedWithTheClockAhead(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, earlier := range []bool{false, true} {
		clock := time.Date(2027, 1, 5, 9, 0, 0, 0, time.UTC)
		s, saved := siteOnClock(t, &clock)
		h := newHook(t)
		s.notifyHook(h, saved)
		if earlier {
			s.forgetSince()
		}
		n := s.server.newNotifier()
		look := func(want int) {
			t.Helper()
			if err := n.look(t.Context()); err != nil || len(h.ids) != want {
				t.Errorf("saved by an earlier version: %t: %d notifications, want %d: %v", earlier, len(h.ids), want, err)
			}
		}
		look(0)
		clock = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
		for id := int64(1); id <= 2; id++ {
			clock = clock.AddDate(0, 1, 0)
			s.apply(meeting(id, "A new walrus", "2026-02-10T09:00:00Z", ""))
			look(int(id))
		}
	}
}

// forgetSince leaves saved searches as an earlier version had them.
func (s *site) forgetSince() {
	s.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(s.archive.Dir(), notes.Name))
	if err == nil {
		_, err = db.ExecContext(s.t.Context(), `UPDATE saved_searches SET since_epoch = '', since_seq = 0`)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestANotificationThatCannotBeNotedIsNotSentAgain has an address accept a meeting while notes.db takes
// nothing, and fail while the clock is ahead by a month.
func TestANotificationThatCannotBeNotedIsNotSentAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	clock := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	s, walrus := siteOnClock(t, &clock)
	h := newHook(t)
	s.notifyHook(h, walrus)
	n := s.server.newNotifier()
	look := func(after time.Duration, want int) {
		t.Helper()
		clock = clock.Add(after)
		if err := n.look(t.Context()); err != nil || len(h.ids) != want {
			t.Fatalf("%d notifications, want %d: %v, %q", len(h.ids), want, err, h.bodies)
		}
	}
	db := filepath.Join(s.archive.Dir(), notes.Name)
	archivetest.Damage(t, db, `CREATE TRIGGER full BEFORE INSERT ON notified BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`)
	s.apply(meeting(1, "A walrus", "2026-02-10T09:00:00Z", ""))
	look(0, 1)
	look(2*time.Hour, 1)
	archivetest.Damage(t, db, `DROP TRIGGER full`)
	s.apply(meeting(2, "Another walrus", "2026-02-11T09:00:00Z", ""))
	look(2*time.Hour, 2)
	s.apply(meeting(3, "A third walrus", "2026-02-12T09:00:00Z", ""))
	h.status = http.StatusServiceUnavailable
	look(31*24*time.Hour, 3)
	h.status = http.StatusNoContent
	look(-31*24*time.Hour, 4)
}
