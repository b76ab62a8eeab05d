package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/internal/testrun"
)

// newOverlay returns a service over an archive that its own account fills.
func newOverlay(t *testing.T) (*sandbox, *archive.Archive) {
	t.Helper()
	a := openTestArchive(t, ArchiveDir(t))
	if err := a.PutAccountPerson(t.Context(), "anns", "ann@acme.example"); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Options{Archive: a})
	return s, a
}

// arrive applies a meeting by a source, as it was at the start of the test.
func arrive(t *testing.T, a *archive.Archive, src archive.Source, line string) {
	t.Helper()
	arriveAt(t, a, "anns", src, testStart, line)
}

func arriveAt(t *testing.T, a *archive.Archive, account string, src archive.Source, at time.Time, line string) {
	t.Helper()
	arriveBy(t, a, account, "", src, at, line)
}

// arriveBy applies a meeting that a list query of an account shows, or another source.
func arriveBy(t *testing.T, a *archive.Archive, account, query string, src archive.Source, at time.Time, line string) {
	t.Helper()
	o, err := archive.FromMeeting(account, src, at, []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	o.Query = query
	if src == archive.SourceList {
		if err := a.NoteListRead(t.Context(), account, query, at); err != nil {
			t.Fatal(err)
		}
	}
	if o.Walk, err = a.LatestWalk(t.Context(), account, query); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
}

// caughtUp relays until the relay stands at the head.
func (s *sandbox) caughtUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- newRelay(s.Service).follow(ctx) }()
	for {
		value, err := s.store.setting(ctx, followKey)
		if err != nil {
			t.Fatal(err)
		}
		head, err := s.archive.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(value), head.Epoch) && strings.HasSuffix(string(value), ":"+itoa(head.Seq)+"}") {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the relay stands at %s, the head is %+v", value, head)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// newer is a meeting whose recording began before the webhooks of a test, and was finished after them.
func newer(id int, opts ...string) string {
	end := testStart.Add(time.Duration(id) * time.Hour)
	stamp := func(at time.Time) string { return `"` + at.Format(time.RFC3339) + `"` }
	return meeting(id, append([]string{"created_at", stamp(end), "recording_start_time", stamp(end.Add(-26 * time.Hour))}, opts...)...)
}

// A stamp that lies before the recording, as of a clock that was wrong, makes no history of it.
func TestARecordingIsFinishedAfterItsBeginning(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	arrive(t, a, archive.SourceList, newer(1, "created_at", `"1970-01-01T00:00:00Z"`, "recording_start_time", `"`+testStart.Add(time.Hour).Format(time.RFC3339)+`"`))
	s.caughtUp(t)
	if got := s.queued(); got != "1" {
		t.Errorf("sent %q, want 1", got)
	}
}

func TestTheRelaySendsNewMeetingsOnce(t *testing.T) {
	for name, bare := range map[string]string{"null": `null`, "without its text": `{"template_name": "General"}`, "of another type": `"text"`} {
		t.Run(name, func(t *testing.T) { relayNewMeetings(t, bare) })
	}
}

// relayNewMeetings has lists show meetings, one of them with a summary that is none yet.
func relayNewMeetings(t *testing.T, bare string) {
	s, a := newOverlay(t)
	hook := webhook{email: "ann@acme.example", url: "https://hooks.example/", includes: []api.Part{"default_summary"},
		triggers: []string{"my_recordings"}, createdAt: testStart}
	if err := s.store.putWebhook(t.Context(), &hook); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, meeting(1))                                // recorded before the webhook
	arrive(t, a, archive.SourceImport, newer(2))                                // imported
	arrive(t, a, archive.SourceWebhook, newer(3, "default_summary", bare))      // without a summary yet
	arrive(t, a, archive.SourceList, newer(4))                                  // new
	arrive(t, a, archive.SourceList, newer(5, recordedBy("bob", "Support")...)) // not hers
	s.caughtUp(t)
	if got := s.queued(); got != "4" {
		t.Fatalf("sent %q, want 4", got)
	}
	later := testStart.Add(24 * time.Hour)
	arriveAt(t, a, "anns", archive.SourceSummary, later, newer(3))                                                     // the summary came late
	arriveAt(t, a, "anns", archive.SourceList, later, newer(4, "default_summary", `{"markdown_formatted": "edited"}`)) // a later change
	arriveAt(t, a, "anns", archive.SourceList, later, newer(5, "shared_with", `"all_teams"`))                          // shared later
	s.caughtUp(t)
	if got := s.queued(); got != "4 3" {
		t.Errorf("sent %q, want 4 3", got)
	}
	if err := a.Rebuild(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(t)
	if got := s.queued(); got != "4 3" {
		t.Errorf("after a rebuild: %q", got)
	}
}

// queued are the recordings whose webhooks were not skipped, in their order.
func (s *sandbox) queued() string {
	s.t.Helper()
	list, err := s.Deliveries(s.t.Context(), "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	ids := ""
	for _, d := range list {
		ids = itoa(d.RecordingID) + " " + ids
	}
	return strings.TrimSpace(ids)
}

// annsHook registers a webhook of ann's when the test began.
func (s *sandbox) annsHook() {
	s.t.Helper()
	hook := webhook{email: "ann@acme.example", url: "https://hooks.example/", triggers: []string{"my_recordings"}, createdAt: testStart}
	if err := s.store.putWebhook(s.t.Context(), &hook); err != nil {
		s.t.Fatal(err)
	}
}

// A new account's history does not fire, though it was recorded after the
// webhook was created; meetings recorded from then on do.
func TestABackfillDoesNotFire(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	added := testStart.Add(72 * time.Hour)
	arriveAt(t, a, "second", archive.SourceList, added, newer(10))
	arriveAt(t, a, "second", archive.SourceList, added, newer(71))
	arriveAt(t, a, "second", archive.SourceSummary, added.Add(time.Minute), newer(11))
	arriveAt(t, a, "second", archive.SourceWebhook, added, newer(70)) // delivered, whenever
	arriveAt(t, a, "second", archive.SourceList, added.Add(2*time.Hour), newer(73))
	s.caughtUp(t)
	if got := s.queued(); got != "70 73" {
		t.Errorf("sent %q, want 70 73", got)
	}
}

// The history of a list query that an account gets later, and of its next holder, does not
// fire either.
func TestTheBackfillOfAnotherListDoesNotFire(t *testing.T) {
	added := testStart.Add(72 * time.Hour)
	for name, next := range map[string]struct{ query, credential string }{"query": {"teams:x", "1"}, "holder": {"", "2"}} {
		t.Run(name, func(t *testing.T) {
			s, a := newOverlay(t)
			s.annsHook()
			configure := func(credential string) {
				t.Helper()
				settings := []archive.AccountSetting{{Name: "anns", Email: "ann@acme.example", Credential: credential, Queries: []string{"", next.query}}}
				if err := a.SetAccounts(t.Context(), settings); err != nil {
					t.Fatal(err)
				}
			}
			configure("1")
			arrive(t, a, archive.SourceList, newer(1))
			s.caughtUp(t)
			configure(next.credential)
			arriveBy(t, a, "anns", next.query, archive.SourceList, added, newer(10))
			arriveBy(t, a, "anns", next.query, archive.SourceList, added.Add(2*time.Hour), newer(73))
			s.caughtUp(t)
			if got := s.queued(); got != "1 73" {
				t.Errorf("sent %q, want 1 73", got)
			}
		})
	}
}

// A meeting that a list shows is new since the first read of that list, also where an account that
// was added later is the first to be shown its summary. What the first read of the added account
// alone shows stays history when the other account is shown it, too.
func TestANewMeetingIsNewWhicheverAccountIsShownItsSummaryFirst(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	arrive(t, a, archive.SourceList, meeting(1)) // the first read of ann's list
	added := testStart.Add(4*time.Hour + time.Minute)
	arriveAt(t, a, "anns", archive.SourceList, added, newer(4, "transcript", "null", "default_summary", "null"))
	s.caughtUp(t)
	arriveAt(t, a, "second", archive.SourceList, added, newer(3))
	arriveAt(t, a, "second", archive.SourceList, added, newer(4))
	s.caughtUp(t)
	if got := s.queued(); got != "4" {
		t.Errorf("sent %q, want 4", got)
	}
	arriveAt(t, a, "anns", archive.SourceList, added.Add(time.Hour), newer(3, "default_summary", `{"markdown_formatted": "edited"}`))
	s.caughtUp(t)
	if got := s.queued(); got != "4" {
		t.Errorf("sent %q after ann's list showed history, want 4", got)
	}
}

// The first meeting of an account without history fires, and the first one after all others
// were forgotten.
func TestTheFirstMeetingOfAnEmptyListFires(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	if err := a.NoteListRead(t.Context(), "anns", "", testStart); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   int
		want string
	}{{10, "10"}, {20, "20"}} {
		arriveAt(t, a, "anns", archive.SourceList, testStart.Add(time.Duration(c.id+1)*time.Hour), newer(c.id))
		s.caughtUp(t)
		if got := s.queued(); got != c.want {
			t.Errorf("sent %q, want %q", got, c.want)
		}
		if _, err := a.Forget(t.Context(), int64(c.id), "asked to"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheRelayGoesOnFromNowAfterARestore restores a backup that was made while
// something was waiting to be sent.
func TestTheRelayGoesOnFromNowAfterARestore(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	arrive(t, a, archive.SourceList, newer(1))
	s.caughtUp(t)
	if got := s.queued(); got != "1" || len(s.dueNow()) != 1 {
		t.Fatalf("sent %q before", got)
	}
	dir, to := t.TempDir()+"/backup", t.TempDir()+"/restored"
	if _, err := backup.Run(t.Context(), a, dir, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, newer(2)) // sent, and then lost with the disk
	s.caughtUp(t)
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: dir, Dir: to}); err != nil {
		t.Fatal(err)
	}
	a = openTestArchive(t, to)
	restored := &clock{now: testStart.Add(48 * time.Hour)}
	back := newSandboxAt(t, restored, Options{Archive: a})
	arriveAt(t, a, "anns", archive.SourceList, restored.Now(), newer(2))  // read again
	arriveAt(t, a, "anns", archive.SourceList, restored.Now(), newer(47)) // recorded before the restore
	arriveAt(t, a, "anns", archive.SourceList, restored.Now(), newer(49))
	back.caughtUp(t)
	due := back.dueNow()
	if len(due) != 1 || due[0].recordingID != 49 {
		t.Errorf("due after the restore: %+v", due)
	}
}

// TestTheQueueAndThePositionShareOneCommit lets the position's writing fail:
// nothing is queued then, and afterwards it is queued once.
func TestTheQueueAndThePositionShareOneCommit(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	exec := func(query string) {
		t.Helper()
		if _, err := s.store.db.W.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TRIGGER broken BEFORE UPDATE ON settings WHEN old.key = 'follow' BEGIN SELECT raise(ABORT, 'broken'); END`)
	arrive(t, a, archive.SourceList, newer(1))
	if err := newRelay(s.Service).follow(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Fatalf("followed: %v", err)
	}
	if got := s.queued(); got != "" {
		t.Errorf("queued %q though the position was not moved", got)
	}
	exec(`DROP TRIGGER broken`)
	exec(`CREATE TRIGGER broken BEFORE INSERT ON deliveries BEGIN SELECT raise(ABORT, 'broken'); END`)
	if err := newRelay(s.Service).follow(t.Context()); err == nil {
		t.Fatal("followed without a queue")
	}
	exec(`DROP TRIGGER broken`)
	s.caughtUp(t)
	if got := s.queued(); got != "1" {
		t.Errorf("queued %q, want 1", got)
	}
}

func TestOverAnArchiveAPersonSeesWhatTheirAccountSees(t *testing.T) {
	s, a := newOverlay(t)
	arrive(t, a, archive.SourceList, meeting(1, append(recordedBy("bob", "Support"), "shared_with", `"no_teams"`)...))
	arrive(t, a, archive.SourceImport, meeting(2, append(recordedBy("bob", "Support"), "shared_with", `"no_teams"`)...))
	if got := s.walk("", s.key("ann@acme.example")); len(got) != 1 || got[0] != 1 {
		t.Errorf("ann sees %v, want what her account was shown", got)
	}
	if _, err := s.CreateUser(t.Context(), NewUser{Email: "cy@acme.example"}); err != nil {
		t.Fatal(err)
	}
	if got := s.walk("", s.key("cy@acme.example")); len(got) != 0 {
		t.Errorf("cy sees %v", got)
	}
}

// A meeting that no account is shown any more may have been made private: it is hidden
// from all but who recorded it and whom it was shared with by name.
func TestWhatIsGoneIsHiddenFromOthers(t *testing.T) {
	testrun.SkipUnderRace(t)
	s, a := newOverlay(t)
	for _, email := range []string{"bob@acme.example", "cy@acme.example", "dan@acme.example"} {
		if _, err := s.CreateUser(t.Context(), NewUser{Email: email, Team: "Support", Admin: email == "dan@acme.example"}); err != nil {
			t.Fatal(err)
		}
	}
	arrive(t, a, archive.SourceList, meeting(1, append(recordedBy("bob", "Support"), "shared_with", `"all_teams"`)...))
	arrive(t, a, archive.SourceList, meeting(2, append(recordedBy("bob", "Support"), "shared_with", `"single_team"`)...))
	if err := a.PutShares(t.Context(), archive.Share{RecordingID: 2, Principal: archive.UserPrincipal("cy@acme.example"), Level: archive.ShareStandard}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		for email, ids := range want {
			if got := fmt.Sprint(s.walk("", s.key(email))); got != ids {
				t.Errorf("%s, %s sees %s, want %s", when, email, got, ids)
			}
			rows, err := a.List(t.Context(), archive.ListQuery{Viewer: archive.ViewerWith(email), IncludeGone: true})
			if err != nil || len(rows) != strings.Count(ids, " ")+min(len(ids)-2, 1) {
				t.Errorf("%s, the archive lists %d to %s: %v", when, len(rows), email, err)
			}
		}
	}
	check("before", map[string]string{"bob@acme.example": "[2 1]", "cy@acme.example": "[2 1]", "dan@acme.example": "[2 1]", "ann@acme.example": "[2 1]"})
	for range 2 {
		w, err := a.BeginWalk(t.Context(), "anns", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.CompleteWalk(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	check("gone", map[string]string{"bob@acme.example": "[2 1]", "cy@acme.example": "[2]", "dan@acme.example": "[]", "ann@acme.example": "[]"})
	arriveAt(t, a, "anns", archive.SourceList, testStart.Add(2*time.Hour), meeting(1, append(recordedBy("bob", "Support"), "shared_with", `"all_teams"`)...))
	check("back", map[string]string{"bob@acme.example": "[2 1]", "cy@acme.example": "[2 1]", "dan@acme.example": "[1]", "ann@acme.example": "[1]"})
}
