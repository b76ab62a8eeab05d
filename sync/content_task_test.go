package syncer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLateContentIsAskedForOnSchedule(t *testing.T) {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	a, now := contentTask{Created: start, First: start, Due: start}, start
	var got []time.Duration
	for {
		next, ok := a.nextAttempt(now)
		if !ok {
			break
		}
		got = append(got, next.Due.Sub(start))
		a, now = next, next.Due
	}
	day := 24 * time.Hour
	want := []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour,
		day, 2 * day, 3 * day, 4 * day, 5 * day, 6 * day, 7 * day}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if a.Tries != len(want) {
		t.Errorf("tries = %d, want %d", a.Tries, len(want))
	}
}

func TestLateSkipsLooksThatWereSleptThrough(t *testing.T) {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	a, ok := contentTask{Created: start, First: start}.nextAttempt(start.Add(26 * time.Hour))
	if !ok || a.Due.Sub(start) != 48*time.Hour {
		t.Errorf("due %v after the first look, %v; want 48h", a.Due.Sub(start), ok)
	}
}

// A clock that was ahead by forty days, or a program that did not run for so long, does not end
// the waiting for content; attempts end nevertheless.
func TestALeapOfTheClockEndsNoWaiting(t *testing.T) {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for tries := range 12 {
		a, now := contentTask{Created: start, First: start, Due: start}, start
		for range tries {
			a, _ = a.nextAttempt(now)
			now = a.Due
		}
		ahead := now.Add(40 * 24 * time.Hour)
		a, ok := a.nextAttempt(ahead)
		if want := tries < len(retryIntervals()); ok != want {
			t.Errorf("after %d attempts and a leap: waited for %v, want %v", tries, ok, want)
			continue
		}
		if at := a.dueAt(now); ok && at.After(now) {
			t.Errorf("the clock is right again, %s, and the next attempt is at %s", now, at)
		}
		n := a.Tries
		for at := ahead; ok; at = a.Due {
			a, ok = a.nextAttempt(at)
			if n++; n > 20 {
				t.Fatalf("after %d attempts and a leap: the attempts do not end", tries)
			}
		}
	}
}

func TestDailyLooksAtOldMeetingsTakeSpareCalls(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for _, created := range []time.Time{now, now.AddDate(-1, 0, 0)} {
		a, looks, spare := contentTask{Created: created, First: now, Due: now}, 0, 0
		for ok := true; ok; a, ok = a.nextAttempt(a.Due) {
			looks++
			if a.isSpare() {
				spare++
			}
		}
		want := 0
		if created.Before(now) {
			want = 7
		}
		if looks != 12 || spare != want {
			t.Errorf("a meeting of %v: %d looks, %d of them with spare calls; want 12 and %d", created, looks, spare, want)
		}
	}
}

func TestASecondReadingIsNotWaitedFor(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	if _, ok := (contentTask{Created: now, First: now, Reread: true}).nextAttempt(now); ok {
		t.Error("a second reading is waited for")
	}
}

// A clock that was ahead by a day, when a call failed or found nothing, puts nothing off.
func TestATaskThatAWrongClockDatedIsDue(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	ahead := now.Add(26 * time.Hour)
	late, _ := contentTask{Created: now, First: now}.nextAttempt(ahead)
	for name, a := range map[string]contentTask{"failed": contentTask{Created: now, First: now}.postponed(ahead), "without content": late} {
		if at := a.dueAt(now); at.After(now) {
			t.Errorf("%s, a task is due at %s, and it is %s", name, at, now)
		}
		if at := a.dueAt(ahead); !at.Equal(a.Due) {
			t.Errorf("%s, by the wrong clock a task is due at %s, not at %s", name, at, a.Due)
		}
	}
}

// The waits after failed calls, one after the other.
func TestATaskWaitsEverLongerAfterFailures(t *testing.T) {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		task contentTask
		want []time.Duration
	}{
		{contentTask{First: start}, []time.Duration{10 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute}},
		{contentTask{First: start.Add(-30 * 24 * time.Hour)}, []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour, 168 * time.Hour}},
		{contentTask{First: start, Reread: true}, []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour}},
	} {
		a, now := c.task, start
		for i, want := range c.want {
			a.Failures++
			if a = a.postponed(now); a.Due.Sub(now) != want || !a.dueAt(now).Equal(a.Due) {
				t.Errorf("%+v: after failure %d it waits %s; want %s", c.task, i+1, a.Due.Sub(now), want)
			}
			now = a.Due
		}
	}
}

func TestAskSurvivesItsMark(t *testing.T) {
	want := contentTask{RecordingID: 7, Account: "a", List: "p", Transcript: true, Urgent: true, Tries: 2,
		Created: time.Unix(1, 0).UTC(), First: time.Unix(2, 0).UTC(), Due: time.Unix(3, 0).UTC()}
	got, err := decodeMark[contentTask]("key", newMark("key", want).Value)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
