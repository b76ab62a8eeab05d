package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// duringACommit has a commit of an archive wait until fn returns. fn begins works behind it, which
// then have to succeed.
func duringACommit(t *testing.T, fn func(a *archive.Archive, begin func(work func() error))) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := archivetest.Open(t, dir)
		var works errgroup.Group
		begin := func(work func() error) {
			works.Go(work)
			synctest.Wait()
		}
		written := make(chan struct{})
		begin(func() error {
			return a.DB().WriteTx(context.Background(), func(*sql.Tx) error { <-written; return nil })
		})
		fn(a, begin)
		close(written)
		if err := works.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestNobodyWaitsForTheClockBehindASlowCommit has the confirmed clock wait for its turn to be
// written: the service's time is noted meanwhile, and who asks for the clock as well waits no
// longer than its context.
func TestNobodyWaitsForTheClockBehindASlowCommit(t *testing.T) {
	duringACommit(t, func(a *archive.Archive, begin func(work func() error)) {
		begin(func() error { _, err := a.ConfirmedTime(context.Background()); return err })
		a.NoteServiceTime(time.Now())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.ConfirmedTime(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second one gets %v", err)
		}
	})
}

// TestNobodyWaitsForADatabaseThatOpens has the opening of another database wait for its turn to
// write: the state of the forgetting is read meanwhile, and who opens one as well waits no longer than
// the context.
func TestNobodyWaitsForADatabaseThatOpens(t *testing.T) {
	migrations := fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}
	duringACommit(t, func(a *archive.Archive, begin func(work func() error)) {
		begin(func() error { _, err := a.SideDB(context.Background(), "first.db", migrations, nil); return err })
		if _, _, err := a.Forgetting(context.Background()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.SideDB(ctx, "second.db", migrations, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second database: %v", err)
		}
	})
}

// machine runs archives of a directory, one after the other.
type machine struct {
	t       *testing.T
	dir     string
	archive *archive.Archive
	now     time.Time
	running time.Duration
	behind  time.Duration // of the service's clock, which is right but for that
	answers bool
}

func (m *machine) start() {
	m.running = 0
	a, err := archive.Open(m.t.Context(), archive.Options{Dir: m.dir, Create: true, Logger: zerolog.Nop(),
		Now: func() time.Time { return m.now }, Running: func() time.Duration { return m.running }})
	if err != nil {
		m.t.Fatal(err)
	}
	m.archive = a
}

// run lets hours pass, and returns the lead of the clock over the confirmed time.
func (m *machine) run(hours int) time.Duration {
	m.t.Helper()
	for i := 0; ; i++ {
		if m.answers {
			m.archive.NoteServiceTime(m.now.Add(-m.behind))
		}
		at, err := m.archive.ConfirmedTime(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		if i == hours {
			return m.now.Sub(at)
		}
		m.now, m.running = m.now.Add(time.Hour), m.running+time.Hour
	}
}

// TestAClockIsBelievedInTime compares the confirmed time and the doubt after each step of a story.
func TestAClockIsBelievedInTime(t *testing.T) {
	const day = 24 * time.Hour
	type step struct {
		leap   time.Duration // of the clock before it: a sleep, or the clock is set
		off    time.Duration // before it: no process runs
		answer bool          // the service answers during it
		behind time.Duration // of the answers
		state  bool          // a person confirms the clock after the first hour
		hours  int
		want   time.Duration // the lead that is not believed, at the end
	}
	for name, story := range map[string][]step{
		"a machine sleeps, and the service answers no more":  {{answer: true, hours: 1}, {leap: 60 * day, hours: 24, want: 60 * day}, {hours: 8 * 24}, {leap: day, hours: 1, want: day}, {hours: 24}},
		"the service has contradicted, and answers no more":  {{answer: true, behind: 40 * day, hours: 1, want: 40 * day}, {hours: 30 * 24, want: 40 * day}},
		"the clock is set, and the service is away for days": {{answer: true, hours: 1}, {leap: 40 * day, hours: 7 * 24, want: 40 * day}, {answer: true, behind: 40 * day, hours: 1, want: 40 * day}},
		"a person is believed after a restart": {{answer: true, behind: 40 * day, state: true, hours: 2}, {off: 2 * time.Hour, answer: true, behind: 40 * day, hours: 1},
			{off: 20 * day, answer: true, behind: 40 * day, hours: 1}},
		"a person is believed after a silence":                   {{answer: true, behind: 40 * day, state: true, hours: 2}, {off: 2 * time.Hour, hours: 30}, {answer: true, behind: 40 * day, hours: 1}},
		"a person's clock is set ahead":                          {{answer: true, behind: 40 * day, state: true, hours: 2}, {leap: 10 * day, answer: true, behind: 50 * day, hours: 48, want: 10 * day}, {leap: -10 * day, answer: true, behind: 40 * day, hours: 1}},
		"the service's clock is set right, and a person's ahead": {{answer: true, behind: 40 * day, state: true, hours: 2}, {answer: true, hours: 1}, {leap: 40 * day, answer: true, behind: 40 * day, hours: 48, want: 40 * day}},
		"both at once":                  {{answer: true, behind: 40 * day, state: true, hours: 2}, {off: 30 * day, answer: true, behind: 30 * day, hours: 48, want: 30 * day}},
		"a person stated another clock": {{state: true, hours: 2}, {leap: 200 * day, hours: 25}, {answer: true, behind: 200 * day, hours: 1, want: 200 * day}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{t: t, dir: t.TempDir(), now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}
			m.start()
			defer func() { m.archive.Close() }()
			for i, s := range story {
				m.now = m.now.Add(s.leap + s.off)
				if s.off > 0 {
					m.archive.Close()
					m.start()
				}
				m.answers, m.behind = s.answer, s.behind
				if s.state {
					m.run(1)
					if err := m.archive.AcceptRetention(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
					s.hours--
				}
				if got := m.run(s.hours); got != s.want {
					t.Errorf("step %d: ahead by %s, want %s", i, got, s.want)
				}
			}
		})
	}
}

// TestNoticesEndWhereNoProcessRunsForLong keeps the clock in processes that each run for less than an
// hour, and end in good order or are killed.
func TestNoticesEndWhereNoProcessRunsForLong(t *testing.T) {
	rules := []archive.RetentionRule{{MediaAfter: 100 * 24 * time.Hour}}
	for name, run := range map[string]struct {
		each   time.Duration
		killed bool
	}{"in good order": {each: 9 * time.Minute}, "killed": {each: 55 * time.Minute, killed: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				show := func(a *archive.Archive) time.Duration { // how much longer the rules wait
					h, err := a.ShowRetention(t.Context(), rules)
					if err != nil {
						t.Fatal(err)
					}
					return time.Until(h.From)
				}
				var before time.Duration
				for ran := time.Duration(0); ran < 3*time.Hour; ran += run.each {
					a := archivetest.OpenAt(t, dir, time.Now)
					if ran == 0 {
						before = show(a)
					}
					ctx, end := context.WithCancel(t.Context())
					go a.KeepClock(ctx)
					time.Sleep(run.each)
					if !run.killed {
						end()
						synctest.Wait()
					}
					a.Close()
					end()
					time.Sleep(23 * time.Hour)
				}
				if after := show(archivetest.OpenAt(t, dir, time.Now)); before-after < 160*time.Minute {
					t.Errorf("the rules wait for %s, and after three hours for %s", before, after)
				}
			})
		})
	}
}
