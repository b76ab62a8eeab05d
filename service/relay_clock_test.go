package service

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"minutebook/archive"
)

// A list that was first read while the clock was ahead keeps the account's reads
// from firing webhooks only until it is read by a clock that is right.
func TestAListFirstReadByAClockThatWasAhead(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	const ahead = 10 * 365 * 24 * time.Hour
	for i, step := range []time.Duration{ahead, -ahead} {
		s.clock.add(step)
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(1+i))
		s.caughtUp(t)
	}
	if got := s.queued(); got != "2" {
		t.Errorf("sent %q, want 2", got)
	}
}

// A clock that is behind until it is set right makes no history new: neither meetings finished before
// a restore nor those finished before a webhook was created or enabled.
func TestAClockBehindForAMinuteMakesNoHistoryNew(t *testing.T) {
	for name, goOn := range map[string]func(*sandbox) error{
		"restored": func(s *sandbox) error {
			return s.store.db.WriteTx(t.Context(), func(tx *sql.Tx) error { // as resumeAfterRestore does
				head, err := s.archive.Head(t.Context())
				return errors.Join(err, s.skipToHead(t.Context(), tx, head))
			})
		},
		"created": func(s *sandbox) error {
			_, err := s.store.db.ExecContext(t.Context(), `UPDATE webhooks SET created_at = ?`, s.clock.Now().UnixMilli())
			return err
		},
		"enabled": func(s *sandbox) error {
			_, err := s.store.db.ExecContext(t.Context(), `UPDATE webhooks SET enabled_at = ?`, s.clock.Now().UnixMilli())
			return err
		},
	} {
		for _, behind := range [][]time.Duration{{0}, {72 * time.Hour}, {72 * time.Hour, 90 * time.Hour}} {
			for _, restarted := range []bool{false, true} {
				s, a, up := newFollowed(t)
				arrive(t, a, archive.SourceList, meeting(900)) // its list is read since the start
				s.step(t, newRelay(s.Service))
				s.clock.add(48 * time.Hour)
				*up += 48 * time.Hour
				s.step(t, newRelay(s.Service))
				if err := goOn(s); err != nil {
					t.Fatal(err)
				}
				s.clock.add(time.Hour)
				var r *relay
				for _, b := range behind {
					*up = time.Minute // booted
					s.clock.add(-b)
					if err := s.clampTimes(t.Context()); err != nil { // as follow and sweep do
						t.Fatal(err)
					}
					r = newRelay(s.Service)
					s.step(t, r)
					s.clock.add(b)
				}
				*up += time.Minute
				s.clock.add(time.Minute)
				if restarted {
					s.caughtUp(t)
				} else {
					s.step(t, r)
				}
				arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(40)) // finished before
				arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(61))
				s.step(t, r)
				if got := s.queued(); got != "61" {
					t.Errorf("%s, behind by %s, restarted %t: sent %q, want 61", name, behind, restarted, got)
				}
			}
		}
	}
}

// A time that a clock ahead has written counts neither before it nor when it comes: a meeting that
// was finished shortly before, and has its summary shortly after it, fires.
func TestATimeOfAClockAheadThatComesSilencesNothing(t *testing.T) {
	const ahead = 2 * time.Hour
	s, a, up := newFollowed(t)
	arrive(t, a, archive.SourceList, meeting(900))
	s.step(t, newRelay(s.Service))
	s.clock.add(25*time.Hour + ahead) // it was off, and its clock shows the local time
	*up = time.Minute
	r := newRelay(s.Service)
	s.step(t, r)
	s.clock.add(-ahead)
	s.step(t, r)
	for id := 36; id < 39; id++ {
		s.clock.add(time.Hour)
		*up += time.Hour
		s.step(t, r)
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(id-1))
		s.step(t, r)
	}
	if got := s.queued(); got != "36 37" {
		t.Errorf("sent %q, want 36 37", got)
	}
}

// A clock that is behind between two steps of the relay, while the sweep runs, makes no history new
// either, and has no meeting wait shorter for its list.
func TestAClockBehindForASweepMakesNoHistoryNew(t *testing.T) {
	const behind = 72 * time.Hour
	s, a, up := newFollowed(t)
	arrive(t, a, archive.SourceList, meeting(900))
	s.step(t, newRelay(s.Service))
	s.clock.add(48 * time.Hour)
	s.step(t, newRelay(s.Service))
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE webhooks SET created_at = ?`, s.clock.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	s.clock.add(4 * time.Hour)
	r := newRelay(s.Service)
	arrive(t, a, archive.SourceWebhook, delivered(60))
	s.step(t, r)
	until := func() (at int64) {
		if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT until FROM undecided`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := until()
	s.clock.add(-behind)
	if err := s.clampTimes(t.Context()); err != nil { // as sweep does
		t.Fatal(err)
	}
	s.clock.add(behind + 10*time.Minute)
	*up += 10 * time.Minute
	s.step(t, r)
	if got := until(); got != want {
		t.Errorf("waits until %d, want %d", got, want)
	}
	for _, id := range []int{40, 61} { // 40 was finished before the webhook was created
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(id))
	}
	s.step(t, r)
	if got := s.queued(); got != "61" {
		t.Errorf("sent %q, want 61", got)
	}
}

// A clock that is ahead at every start silences nothing: the present that counted instead of a time that it has
// written counts again when it is set right again.
func TestAClockAheadAtEveryStartSilencesNothing(t *testing.T) {
	const ahead = 2 * time.Hour
	for name, off := range map[string]time.Duration{"a pause": 25 * time.Hour, "a webhook": 20 * time.Hour} {
		s, a, up := newFollowed(t)
		arrive(t, a, archive.SourceList, meeting(900))
		s.step(t, newRelay(s.Service))
		s.clock.add(off)
		finished := newer(int(s.clock.Now().Sub(testStart)/time.Hour) + 1)
		for range 3 {
			s.clock.add(ahead)
			*up = time.Minute // booted
			r := newRelay(s.Service)
			if err := r.followTimes(t.Context(), true); err != nil { // as follow does
				t.Fatal(err)
			}
			s.step(t, r)
			if name == "a webhook" {
				if _, err := s.store.db.ExecContext(t.Context(), `UPDATE webhooks SET created_at = ?`, s.clock.Now().UnixMilli()); err != nil {
					t.Fatal(err)
				}
				name += " created once"
			}
			s.clock.add(-ahead)
			s.step(t, r)
			s.clock.add(40 * time.Minute)
			*up += 40 * time.Minute
			s.step(t, r)
		}
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), finished)
		s.step(t, newRelay(s.Service))
		if got := s.queued(); got == "" {
			t.Errorf("%s: the meeting that was finished since is not sent", name)
		}
	}
}

// A webhook that is created while the clock is behind does not fire for meetings finished before,
// once the clock is right, also where the machine was started with that clock.
func TestAWebhookCreatedByAClockBehindFiresForNoHistory(t *testing.T) {
	const behind = 40 * time.Hour
	for _, booted := range []bool{false, true} {
		s, a, up := newFollowed(t)
		arrive(t, a, archive.SourceList, meeting(900))
		r := newRelay(s.Service)
		s.step(t, r)
		for range 4 {
			s.clock.add(12 * time.Hour)
			*up += 12 * time.Hour
			s.step(t, r)
		}
		s.clock.add(-behind)
		if booted {
			*up = time.Minute
			r = newRelay(s.Service)
			if err := r.followTimes(t.Context(), true); err != nil { // as follow does
				t.Fatal(err)
			}
		}
		s.step(t, r)
		if _, err := s.store.db.ExecContext(t.Context(), `UPDATE webhooks SET created_at = ?`, s.clock.Now().UnixMilli()); err != nil {
			t.Fatal(err)
		}
		s.clock.add(behind + time.Minute)
		*up += time.Minute
		s.step(t, r)
		for _, id := range []int{40, 59} { // 40 was finished before the webhook was created
			arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(id))
		}
		s.step(t, r)
		if got := s.queued(); got != "59" {
			t.Errorf("booted %t: sent %q, want 59", booted, got)
		}
	}
}
