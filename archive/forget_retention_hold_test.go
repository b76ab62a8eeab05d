package archive

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
)

// Each step of a story of rules deletes recordings from agedArchive. 1 and 2
// are old, 3 and 4 young, 5 only waits for its recording.
func TestNewRulesWait(t *testing.T) {
	testrun.SkipUnderRace(t)
	sales := func(days int) RetentionRule {
		return RetentionRule{MediaAfter: time.Duration(days) * day, Teams: []string{"Sales"}}
	}
	all := func(days int) RetentionRule { return RetentionRule{MediaAfter: time.Duration(days) * day} }
	type step struct {
		after   time.Duration // before it
		rules   []RetentionRule
		show    bool // in status
		accept  bool
		want    string // of DeleteExpired
		waiting bool
	}
	for name, story := range map[string][]step{
		"never shown": {{rules: []RetentionRule{all(100)}, want: "[]", waiting: true}, {after: 90 * day, rules: []RetentionRule{all(100)}, want: "[]", waiting: true}},
		"shown": {{rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true}, {after: 23 * time.Hour, rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true},
			{after: time.Hour, rules: []RetentionRule{all(100)}, want: "[1 2 5]"}},
		"accepted": {{rules: []RetentionRule{all(100)}, accept: true, want: "[1 2 5]"}},
		"changed starts again": {{rules: []RetentionRule{sales(100)}, show: true, want: "[]", waiting: true},
			{after: 23 * time.Hour, rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true}, {after: 2 * time.Hour, rules: []RetentionRule{all(100)}, want: "[]", waiting: true},
			{after: 22 * time.Hour, rules: []RetentionRule{all(100)}, want: "[1 2 5]"}},
		"narrowing does not": {{rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true}, {after: 23 * time.Hour, rules: []RetentionRule{all(140)}, want: "[]", waiting: true},
			{after: time.Hour, rules: []RetentionRule{all(140)}, want: "[1 2 5]"}},
		"wider than what is in force": {{rules: []RetentionRule{all(1000)}, accept: true, want: "[]"}, {rules: []RetentionRule{all(100)}, want: "[]", waiting: true}},
		"of other types": {{rules: []RetentionRule{{MediaAfter: 100 * day, Types: []string{"Nothing"}}}, accept: true, want: "[]"},
			{rules: []RetentionRule{{MediaAfter: 100 * day, Types: []string{""}}}, show: true, want: "[]", waiting: true}},
		"the old ones go on": {{rules: []RetentionRule{sales(1000)}, accept: true, want: "[]"}, {after: 900 * day, rules: []RetentionRule{all(100)}, want: "[1 5]", waiting: true},
			{rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true}, {after: day, rules: []RetentionRule{all(100)}, want: "[2 3 4]"}},
		"taken away and back": {{rules: []RetentionRule{all(100)}, show: true, want: "[]", waiting: true}, {want: "[]"}, {after: 2 * day, rules: []RetentionRule{all(100)}, want: "[]", waiting: true}},
		"a clock that was ahead": {{after: 4000 * day, rules: []RetentionRule{all(9000)}, show: true, want: "[]", waiting: true}, {after: -4000 * day, rules: []RetentionRule{all(9000)}, show: true, want: "[]", waiting: true},
			{after: day, rules: []RetentionRule{all(9000)}, want: "[]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, now := agedArchive(t)
			for i, s := range story {
				*now = now.Add(s.after)
				_, err := a.ConfirmedTime(t.Context()) // as the inbox asks, a moment before
				must(t, err)
				if s.accept {
					if err := a.AcceptRetention(t.Context(), s.rules); err != nil {
						t.Fatal(err)
					}
				}
				if s.show {
					h, err := a.ShowRetention(t.Context(), s.rules)
					if err != nil || h.Waiting != s.waiting || h.Waiting && h.From.After(now.Add(retentionNotice)) {
						t.Errorf("step %d: status shows %+v, %v", i, h, err)
					}
				}
				ids := []int64{}
				waiting, err := a.DeleteExpired(t.Context(), s.rules, func(e Expired) { ids = append(ids, e.RecordingID) })
				if got := fmt.Sprint(ids); err != nil || got != s.want || waiting != s.waiting {
					t.Errorf("step %d: %s deleted, waiting %t, %v; want %s, %t", i, got, waiting, err, s.want, s.waiting)
				}
			}
		})
	}
}

// TestOtherRulesEndADeletion has status look at other rules after the first deletion, as after
// a reload: those that keep more end it, and those that keep no more do not.
func TestOtherRulesEndADeletion(t *testing.T) {
	rules := []RetentionRule{{MediaAfter: 100 * day}}
	for days, want := range map[time.Duration]int{0: 1, 1000: 1, 100: 3, 10: 3} {
		a, _ := agedArchive(t)
		must(t, a.AcceptRetention(t.Context(), rules))
		deleted := 0
		_, err := a.DeleteExpired(t.Context(), rules, func(Expired) {
			deleted++
			_, err := a.LookAtRetention(t.Context(), []RetentionRule{{MediaAfter: days * day}})
			must(t, err)
		})
		if err != nil || deleted != want {
			t.Errorf("after %d days: %d deleted, want %d, %v", days, deleted, want, err)
		}
	}
}

// TestAClockSetAheadEndsNoWait: only time counts in which a process ran.
func TestAClockSetAheadEndsNoWait(t *testing.T) {
	a, now := agedArchive(t)
	rules := []RetentionRule{{MediaAfter: 100 * day}}
	var running time.Duration
	a.running = func() time.Duration { return running }
	if h, err := a.ShowRetention(t.Context(), rules); err != nil || !h.Waiting {
		t.Fatalf("at first: %+v, %v", h, err)
	}
	for i, step := range []struct {
		clock, ran time.Duration
		restarted  bool
		waiting    bool
	}{
		{clock: 2 * day, ran: time.Hour, waiting: true},
		{clock: -2 * day, ran: 10 * time.Hour, waiting: true},
		{clock: 3 * day, restarted: true, waiting: true},
		{clock: time.Hour, ran: 12 * time.Hour, waiting: true},
		{clock: 0, ran: 30 * time.Second, waiting: true},
		{clock: 0, ran: time.Hour - 30*time.Second},
	} {
		*now = now.Add(step.clock)
		running += step.ran
		if step.restarted {
			a.clockRead, running = -1, 0
		}
		waiting, err := a.DeleteExpired(t.Context(), rules, func(Expired) {})
		h, err2 := a.ShowRetention(t.Context(), rules)
		if err != nil || err2 != nil || waiting != step.waiting || h.Waiting != step.waiting {
			t.Errorf("step %d: waiting %t, %+v (%v, %v); want %t", i, waiting, h, err, err2, step.waiting)
		}
	}
}

// TestRulesInForceStayInForce opens an archive whose rules an earlier version has put in
// force, which noted the time of their showing alone.
func TestRulesInForceStayInForce(t *testing.T) {
	rules := []RetentionRule{{MediaAfter: 100 * day}}
	for shown, want := range map[time.Duration]string{25 * time.Hour: "[1 2 5]", 23 * time.Hour: "[]"} {
		a, now := agedArchive(t)
		if _, err := a.ShowRetention(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		state, err := a.Mark(t.Context(), retentionKey)
		if err != nil {
			t.Fatal(err)
		}
		old := regexp.MustCompile(`,"waited":[0-9]+`).ReplaceAll(state, nil)
		if err := a.SetMarks(t.Context(), Mark{Key: retentionKey, Value: old}); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(shown)
		a.clockRead = -1 // another process
		ids := []int64{}
		if _, err := a.DeleteExpired(t.Context(), rules, func(e Expired) { ids = append(ids, e.RecordingID) }); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(ids); got != want {
			t.Errorf("shown %v ago: %s deleted, want %s", shown, got, want)
		}
	}
}

// TestAClockSetAheadIsNotConfirmed asks for the confirmed time as processes that run for an
// hour each do.
func TestAClockSetAheadIsNotConfirmed(t *testing.T) {
	a, now := agedArchive(t)
	started := *now
	for i, c := range []struct {
		clock     time.Duration // beyond the hours
		restarted bool
		service   bool // has answered, with the right time
		want      time.Duration
	}{
		{want: 0},
		{want: time.Hour},
		{clock: 3650 * day, restarted: true, want: 2 * time.Hour},
		{clock: 3650 * day, want: 3 * time.Hour},
		{clock: 3650 * day, service: true, want: 4 * time.Hour},
		{restarted: true, want: 5 * time.Hour},
		{clock: 40 * day, restarted: true, want: 6 * time.Hour}, // the machine was off
		{clock: 40 * day, service: true, want: 40*day + 7*time.Hour},
	} {
		hours := time.Duration(i) * time.Hour
		*now = started.Add(c.clock + hours)
		if c.restarted {
			a.clockRead = hours - time.Hour
			a.answer.Store(nil)
		}
		a.running = func() time.Duration { return hours }
		if c.service {
			a.NoteServiceTime(started.Add(c.want))
		}
		got, err := a.ConfirmedTime(t.Context())
		if err != nil || !got.Equal(started.Add(c.want)) {
			t.Errorf("step %d: %v, %v; want %v", i, got.Sub(started), err, c.want)
		}
	}
}

// TestAClockThatWasNeverRightIsNotConfirmed has a clock that was ahead when an archive first
// asked for the time. The service's answers contradict the clock, before that or afterwards. A
// person who applies the rules is believed nevertheless.
func TestAClockThatWasNeverRightIsNotConfirmed(t *testing.T) {
	for _, first := range []bool{true, false} {
		a, now := agedArchive(t)
		right := *now
		*now = right.Add(40 * day)
		var hours time.Duration
		a.running = func() time.Duration { return hours }
		check := func(step string, want time.Time) {
			t.Helper()
			hours, *now = hours+time.Hour, now.Add(time.Hour)
			if got, err := a.ConfirmedTime(t.Context()); err != nil || !got.Equal(want.Add(hours)) {
				t.Errorf("%s: %v, %v; want %v", step, got, err, want.Add(hours))
			}
		}
		if !first {
			check("nothing known", right.Add(40*day))
		}
		a.NoteServiceTime(right.Add(hours))
		for range 30 {
			check("contradicted", right)
		}
		if err := a.AcceptRetention(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		check("a person has applied the rules", right.Add(40*day))
		check("likewise", right.Add(40*day))
	}
}

// TestAClockSetAheadDropsNoBody starts the retention of bodies twice with a delivery that was
// just applied: ten years ahead, and when the service's answers agree.
func TestAClockSetAheadDropsNoBody(t *testing.T) {
	testrun.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		now, running := time.Now(), time.Duration(0)
		a, err := Open(t.Context(), Options{Dir: t.TempDir(), Create: true, Now: func() time.Time { return now },
			Running: func() time.Duration { return running }, Logger: zerolog.Nop()})
		must(t, err)
		defer a.Close()
		_, err = a.ConfirmedTime(t.Context())
		must(t, err)
		_, err = a.Inbox().Put(t.Context(), inbox.Delivery{Account: "ann", WebhookID: "msg_1", Body: []byte("{}")})
		must(t, err)
		must(t, a.Inbox().Settle(t.Context(), inbox.Outcome{ID: 1}))
		now = now.Add(3650 * day)
		for _, agrees := range []bool{false, true} {
			running += time.Minute
			if agrees {
				a.NoteServiceTime(now)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go a.Inbox().RunBodyRetention(ctx, day)
			time.Sleep(time.Second)
			cancel()
			synctest.Wait()
			var kept int
			must(t, a.Inbox().DB().R.QueryRowContext(t.Context(), `SELECT count(*) FROM deliveries WHERE body IS NOT NULL`).Scan(&kept))
			if (kept == 0) != agrees {
				t.Errorf("the service agrees: %t; %d bodies are kept", agrees, kept)
			}
		}
	})
}

// TestAClockSetAheadAgesNoMeeting has a rule in force that reaches no meeting yet, and
// moves the clock to a day on which it reaches 1, 2 and 5.
func TestAClockSetAheadAgesNoMeeting(t *testing.T) {
	rules := []RetentionRule{{MediaAfter: 300 * day}}
	type step struct {
		clock     time.Duration // beyond ran
		ran       time.Duration
		restarted bool
		sure      bool          // the clock is not in doubt
		service   bool          // has answered
		behind    time.Duration // of the service's clock
		want      string
	}
	for name, story := range map[string][]step{
		"it runs on for a day": {{clock: 200 * day, ran: time.Hour, want: "[]"}, {ran: 23 * time.Hour, want: "[]"}, {ran: time.Hour, want: "[1 2 5]"}},
		"it is set right":      {{clock: 200 * day, ran: time.Hour, want: "[]"}, {clock: -200 * day, ran: 23 * time.Hour, sure: true, want: "[]"}, {ran: 48 * time.Hour, sure: true, want: "[]"}},
		"the service agrees":   {{clock: 200 * day, ran: time.Hour, want: "[]"}, {ran: time.Hour, service: true, want: "[1 2 5]"}},
		"the service does not": {{clock: 200 * day, ran: time.Hour, service: true, behind: 200 * day, want: "[]"}, {ran: 48 * time.Hour, want: "[]"}, {ran: 48 * time.Hour, want: "[]"}},
		"no process ran":       {{clock: 200 * day, restarted: true, want: "[]"}, {ran: 20 * time.Hour, want: "[]"}, {ran: 5 * time.Hour, want: "[1 2 5]"}},
		"a machine that sleeps at night": {{clock: 200 * day, ran: time.Hour, want: "[]"}, {clock: 8 * time.Hour, ran: 16 * time.Hour, want: "[]"},
			{clock: 8 * time.Hour, ran: 16 * time.Hour, want: "[1 2 5]"}},
		"set twice":    {{clock: 200 * day, ran: time.Hour, want: "[]"}, {clock: 9 * day, ran: 23 * time.Hour, want: "[]"}, {ran: 23 * time.Hour, want: "[]"}},
		"time goes by": {{ran: 200 * day, want: "[1 2 5]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, now := agedArchive(t)
			var running time.Duration
			a.running = func() time.Duration { return running }
			if err := a.AcceptRetention(t.Context(), rules); err != nil {
				t.Fatal(err)
			}
			for i, s := range story {
				*now = now.Add(s.clock + s.ran)
				running += s.ran
				if s.restarted {
					a.clockRead, running = -1, 0
					a.answer.Store(nil)
				}
				if s.service {
					a.NoteServiceTime(now.Add(-s.behind))
				}
				ids := []int64{}
				_, err := a.DeleteExpired(t.Context(), rules, func(e Expired) { ids = append(ids, e.RecordingID) })
				if got := fmt.Sprint(ids); err != nil || got != s.want {
					t.Errorf("step %d: %s deleted, want %s, %v", i, got, s.want, err)
				}
				h, err := a.ShowRetention(t.Context(), rules)
				if sure := s.sure || s.want != "[]"; err != nil || sure != (h.ClockAhead == 0) {
					t.Errorf("step %d: status shows %+v, %v", i, h, err)
				}
			}
		})
	}
}
