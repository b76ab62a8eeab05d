package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// delivered is a meeting of bob's that is shared with his team alone.
func delivered(id int) string {
	return newer(id, append(recordedBy("bob", "Support"), "shared_with", `"single_team"`)...)
}

// hookOf registers a webhook for all that a person is shown.
func (s *sandbox) hookOf(email string) {
	s.t.Helper()
	hook := webhook{email: email, url: "https://hooks.example/", createdAt: testStart,
		triggers: []string{api.TriggerMyRecordings, api.TriggerSharedTeam, api.TriggerSharedExternal}}
	if err := s.store.putWebhook(s.t.Context(), &hook); err != nil {
		s.t.Fatal(err)
	}
}

// A delivery comes before the list that shows its meeting to the account's
// person. The webhook is decided when that list comes, within an hour, and by
// the list of an account of its owner's.
func TestADeliveryBeforeItsListFiresWhenItIsListed(t *testing.T) {
	a := openTestArchive(t, ArchiveDir(t))
	for account, email := range map[string]string{"anns": "ann@acme.example", "cys": "cy@acme.example"} {
		if err := a.PutAccountPerson(t.Context(), account, email); err != nil {
			t.Fatal(err)
		}
	}
	s := newSandbox(t, Options{Archive: a})
	s.hookOf("ann@acme.example")
	if _, err := s.CreateUser(t.Context(), NewUser{Email: "dan@acme.example"}); err != nil {
		t.Fatal(err)
	}
	s.hookOf("dan@acme.example") // has no account, and sees nothing of it
	expect := func(when, want string) {
		t.Helper()
		s.caughtUp(t)
		if got := s.queued(); got != want {
			t.Errorf("%s: sent %q, want %q", when, got, want)
		}
	}
	for id := 1; id <= 4; id++ {
		arrive(t, a, archive.SourceWebhook, delivered(id))
	}
	expect("delivered", "")
	arriveAt(t, a, "cys", archive.SourceList, testStart, delivered(1))
	expect("listed to another", "")
	arrive(t, a, archive.SourceList, delivered(1))
	arrive(t, a, archive.SourceList, delivered(2))
	expect("listed", "1 2")
	s.clock.add(undecidedFor)
	s.step(t, newRelay(s.Service))
	arrive(t, a, archive.SourceList, delivered(3))
	expect("listed after an hour", "1 2")
	arriveAt(t, a, "anns", archive.SourceSummary, testStart.Add(time.Hour), newer(4, append(recordedBy("bob", "Support"),
		"shared_with", `"no_teams"`, "default_summary", `{"markdown_formatted": "edited"}`)...))
	arrive(t, a, archive.SourceList, delivered(4))
	expect("changed after an hour", "1 2")
	arrive(t, a, archive.SourceWebhook, delivered(5))
	s.caughtUp(t)
	if _, err := a.Forget(t.Context(), 5, "asked to"); err != nil {
		t.Fatal(err)
	}
	expect("forgotten", "1 2")
	var left int
	if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM undecided`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d meetings are still undecided, %v", left, err)
	}
}

// A relay that was off for more than a day goes on from now and says so; one
// that was off for less sends the meetings that have come. Queued ones are sent.
func TestTheRelayGoesOnFromNowAfterALongPause(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a})
	s.annsHook()
	arrive(t, a, archive.SourceWebhook, newer(1))
	s.caughtUp(t)
	reopened := func(pause time.Duration, from, to int) *sandbox {
		t.Helper()
		for id := from; id <= to; id++ {
			arriveAt(t, a, "anns", archive.SourceWebhook, s.clock.Now(), newer(id))
		}
		s.clock.add(pause)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = openTestArchive(t, dir)
		s := newSandboxAt(t, s.clock, Options{Archive: a})
		s.caughtUp(t)
		return s
	}
	s = reopened(23*time.Hour, 2, 3)
	if got := s.queued(); got != "1 2 3" {
		t.Errorf("after a short pause: sent %q, want 1 2 3", got)
	}
	s = reopened(25*time.Hour, 24, 47)
	arriveAt(t, a, "anns", archive.SourceWebhook, s.clock.Now(), newer(48)) // recorded in the pause, and delivered late
	arriveAt(t, a, "anns", archive.SourceWebhook, s.clock.Now(), newer(49))
	s.caughtUp(t)
	if got := s.queued(); got != "1 2 3 49" {
		t.Errorf("after a long pause: sent %q, want 1 2 3 49", got)
	}
	state, err := s.State(t.Context())
	if err != nil || state.Paused == nil || !state.Paused.To.Equal(testStart.Add(48*time.Hour)) {
		t.Errorf("state %+v, %v", state, err)
	}
}

// A machine that slept for more than a day with the program running is no other
// than one that was off.
func TestTheRelayGoesOnFromNowAfterASleep(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	arrive(t, a, archive.SourceWebhook, newer(1))
	s.caughtUp(t)
	s.clock.add(25 * time.Hour)
	arriveAt(t, a, "anns", archive.SourceWebhook, s.clock.Now(), newer(20))
	s.caughtUp(t)
	arriveAt(t, a, "anns", archive.SourceWebhook, s.clock.Now(), newer(40))
	s.caughtUp(t)
	if got := s.queued(); got != "1 40" {
		t.Errorf("sent %q, want 1 40", got)
	}
	if state, err := s.State(t.Context()); err != nil || state.Paused == nil {
		t.Errorf("state %+v, %v", state, err)
	}
}

// A row that a clock ahead has dated neither waits for that day nor keeps
// anything from firing until then.
func TestAClockThatWasAheadHoldsUpNoWebhook(t *testing.T) {
	s, a := newOverlay(t)
	s.caughtUp(t)
	const ahead = 9 * 365 * 24 * time.Hour
	s.clock.add(ahead)
	s.call(http.MethodPost, "/webhooks", s.key("ann@acme.example"), `{"destination_url": "https://hooks.example/", "triggered_for": ["my_recordings"], "include_summary": true}`)
	arriveAt(t, a, "anns", archive.SourceWebhook, testStart, newer(1))
	s.caughtUp(t) // goes on from 2035
	if err := s.store.queueCallback(t.Context(), callback{owner: "ann@acme.example", kind: "summary", url: "https://x.example/", recordingID: 1, at: s.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	s.clock.add(time.Minute - ahead)
	arriveAt(t, a, "anns", archive.SourceWebhook, testStart, newer(2))
	s.caughtUp(t)
	if got := s.queued(); got != "1 2" { // the callback, the webhook
		t.Errorf("queued %q, want the callback of 1 and the webhook of 2", got)
	}
	if due := s.dueNow(); len(due) != 2 {
		t.Errorf("%d sendings are due, want the webhook and the callback", len(due))
	}
}

// A clock that was behind for a minute, by weeks, and is right again is no pause of the relay: a
// meeting that was recorded before fires, and one that came meanwhile waits for its list. A sleep
// of the machine is one.
func TestAClockThatWasBehindIsNoPause(t *testing.T) {
	for asleep, want := range map[time.Duration]string{0: "5 6", 25 * time.Hour: ""} {
		s, a, up := newFollowed(t)
		const behind = 40 * 24 * time.Hour
		s.clock.add(-behind)
		r := newRelay(s.Service)
		step := func() { s.step(t, r) }
		arrive(t, a, archive.SourceWebhook, delivered(6))
		step()
		*up += time.Minute + asleep
		s.clock.add(behind + time.Minute + asleep)
		arrive(t, a, archive.SourceWebhook, newer(5))
		step()
		arrive(t, a, archive.SourceList, delivered(6))
		step()
		if got := s.queued(); got != want {
			t.Errorf("asleep for %s: sent %q, want %q", asleep, got, want)
		}
	}
}

// A disk that fails for more than a day is no pause of a relay that runs: the meetings of that day
// and of after it fire. A machine that slept is one, also where the disk fails then.
func TestADiskThatFailsForADayIsNoPause(t *testing.T) {
	for _, c := range []struct {
		asleep    time.Duration
		fromStart bool
		want      string
	}{{want: "4 5"}, {asleep: 25 * time.Hour}, {fromStart: true, want: "4 5"}, {asleep: 25 * time.Hour, fromStart: true}} {
		s, a, up := newFollowed(t)
		keepNoFile(t, s)
		r := newRelay(s.Service)
		if !c.fromStart {
			s.step(t, r)
		}
		arrive(t, a, archive.SourceWebhook, newer(4))
		*up += c.asleep
		s.clock.add(c.asleep)
		s.failForADay(t, r, up)
		arrive(t, a, archive.SourceWebhook, newer(5))
		s.step(t, r)
		s.step(t, r)
		if got := s.queued(); got != c.want {
			t.Errorf("from the start %t: sent %q, want %q", c.fromStart, got, c.want)
		}
	}
}

// TestARelayThatRunsAgainNotesIt has a disk fail for more than a day, and the program be started
// anew soon afterwards: it was not off, and a meeting of that day fires.
func TestARelayThatRunsAgainNotesIt(t *testing.T) {
	s, a, up := newFollowed(t)
	keepNoFile(t, s)
	r := newRelay(s.Service)
	s.step(t, r)
	for range 26 { // each of which fails
		*up += time.Hour
		s.clock.add(time.Hour)
		r.noteRun(t.Context())
	}
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error)
	go func() { followed <- r.follow(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		last, err := s.store.timeSetting(ctx, followedKey)
		if err != nil {
			t.Fatal(err)
		}
		if last.Equal(s.clock.Now()) {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the relay does not note that it runs")
			break
		}
	}
	cancel()
	<-followed
	s.clock.add(time.Minute)
	if err := s.startFollowing(t.Context()); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceWebhook, newer(4))
	s.step(t, newRelay(s.Service))
	if got := s.queued(); got != "4" {
		t.Errorf("sent %q, want 4", got)
	}
}

// TestARelayIsStartedAnewAfterADiskThatFailed has a disk fail for more than a day, and the program be
// started anew before the relay could note in its database that it runs: it was not off, and a meeting
// of that day fires. A program that was off for longer than a day before the disk failed was.
func TestARelayIsStartedAnewAfterADiskThatFailed(t *testing.T) {
	for off, want := range map[time.Duration]string{0: "4", 25 * time.Hour: ""} {
		s, a, up := newFollowed(t)
		s.step(t, newRelay(s.Service))
		s.clock.add(off)
		arrive(t, a, archive.SourceWebhook, newer(4))
		s.failForADay(t, newRelay(s.Service), up)
		s.clock.add(time.Minute)
		if err := s.startFollowing(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.step(t, newRelay(s.Service))
		if got := s.queued(); got != want {
			t.Errorf("off for %s: sent %q, want %q", off, got, want)
		}
	}
}

// newFollowed returns a view of an archive with a webhook and a relay that has caught up, and the
// uptime of its machine.
func newFollowed(t *testing.T) (s *sandbox, a *archive.Archive, up *time.Duration) {
	t.Helper()
	s, a = newOverlay(t)
	s.hookOf("ann@acme.example")
	s.clock.add(10 * time.Hour)
	s.caughtUp(t)
	up = new(time.Duration)
	*up = time.Hour
	s.uptime = func() time.Duration { return *up }
	return s, a, up
}

// failForADay has a relay fail to write into its database for 26 hours, once in each of them.
func (s *sandbox) failForADay(t *testing.T, r *relay, up *time.Duration) {
	t.Helper()
	exec := func(query string) {
		if _, err := s.store.db.W.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`PRAGMA query_only = ON`)
	for range 26 {
		*up += time.Hour
		s.clock.add(time.Hour)
		if err := r.follow(t.Context()); err == nil || !strings.Contains(err.Error(), "readonly") {
			t.Fatalf("followed: %v", err)
		}
	}
	exec(`PRAGMA query_only = OFF`)
}

// keepNoFile has the relay fail to write the time at which it runs into its file too.
func keepNoFile(t *testing.T, s *sandbox) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(s.ranPath()), os.Mkdir(s.ranPath(), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// step has a relay decide about the changes since its position.
func (s *sandbox) step(t *testing.T, r *relay) {
	t.Helper()
	value, err := s.store.setting(t.Context(), followKey)
	var position archive.Position
	if err := errors.Join(err, json.Unmarshal(value, &position), r.step(t.Context(), position)); err != nil {
		t.Fatal(err)
	}
}

// A meeting that waits for its list waits for an hour, where a machine starts with a clock that is
// behind, and is set right before the relay decides anything, or while it does.
func TestAClockThatIsSetRightEndsNoWaiting(t *testing.T) {
	const behind = 40 * 24 * time.Hour
	for name, during := range map[string]bool{"before a step": false, "during a step": true} {
		t.Run(name, func(t *testing.T) {
			s, a := newOverlay(t)
			s.hookOf("ann@acme.example")
			s.clock.add(10 * time.Hour)
			s.caughtUp(t)
			up, now := time.Minute, s.now
			s.uptime = func() time.Duration { return up }
			if !during { // before the machine was off
				arrive(t, a, archive.SourceWebhook, delivered(6))
				s.caughtUp(t)
			}
			s.clock.add(-behind)
			if err := s.clampTimes(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, asked := newRelay(s.Service), 0
			setRight := func() { s.clock.add(behind) }
			if during {
				s.step(t, r)
				arrive(t, a, archive.SourceWebhook, delivered(6))
				s.Service.now = func() time.Time {
					at := now()
					if asked++; asked == 1 {
						setRight()
					}
					return at
				}
			} else {
				setRight()
			}
			s.step(t, r)
			s.Service.now = now
			s.step(t, r)
			waits := func() (left int) {
				if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM undecided`).Scan(&left); err != nil {
					t.Fatal(err)
				}
				return left
			}
			if waits() != 1 {
				t.Error("the meeting waits no more")
			}
			s.clock.add(undecidedFor)
			up += undecidedFor
			s.step(t, r)
			if waits() != 0 {
				t.Error("the meeting waits for more than an hour")
			}
		})
	}
}

// A row that cannot be read for a while stops nothing for good.
func TestWorkThatFailsIsBegunAgain(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	exec := func(query string) {
		t.Helper()
		if _, err := s.store.db.W.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("waited in vain: " + what)
			}
		}
	}
	failing := func() int {
		state, err := s.State(t.Context())
		if err != nil {
			return 0
		}
		return len(state.Failing)
	}
	exec(`ALTER TABLE deliveries RENAME TO away`)
	s.run()
	arrive(t, a, archive.SourceWebhook, newer(1))
	eventually("queue, relay and sweep fail and say so", func() bool { return failing() == 3 })
	exec(`ALTER TABLE away RENAME TO deliveries`)
	eventually("what came meanwhile is queued", func() bool { return s.queued() == "1" })
	eventually("nothing fails any more", func() bool { return failing() == 0 })
	times := 0
	s.keepRunning(t.Context(), "odd work", func(context.Context) error {
		if times++; times == 1 {
			panic("a meeting that nobody thought of")
		}
		return nil
	})
	if times != 2 || failing() != 1 {
		t.Errorf("work that panicked was begun %d times; want it begun again and said", times)
	}
}
