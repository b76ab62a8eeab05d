package syncer

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"minutebook/archive/importer"
)

// maxFailures is how many failures Status lists, and maxAccountFailures how many of one
// account.
const (
	maxFailures        = 100
	maxAccountFailures = 20
)

// concernsOne reports whether a failure is of a single meeting or file, of which there can be
// thousands. The others are states that need a person.
func (f FailureStatus) concernsOne() bool {
	return f.Class == classContent || f.Class == classDownload || f.Class == classList ||
		f.Class == importer.FailureClass && !filepath.IsAbs(f.What) // not the watched folder itself
}

// openFailures returns all open failures, latest first, and behind them those of single
// meetings and files, so that these push nothing out of a list that is cut.
func (s *Syncer) openFailures(ctx context.Context) ([]FailureStatus, error) {
	open, err := s.archive.Failures(ctx, true)
	if err != nil {
		return nil, err
	}
	list := make([]FailureStatus, len(open))
	for i, f := range open {
		list[i] = FailureStatus{Account: f.Account, Class: f.Class, What: f.What,
			RecordingID: f.RecordingID, First: f.First, Last: f.Last, Tries: f.Tries, Reason: f.Reason, NextTry: f.NextTry}
		if a := s.account(f.Account); a != nil && f.Class == classJob {
			list[i].Running = a.isRunning(f.What)
			table, _ := s.schedule.find(f.What) // there may be another one since the failure
			if next := table.next(s.now()); a.suspension() == nil && (next.IsZero() || next.Before(f.NextTry)) {
				list[i].NextTry = next
			}
		}
	}
	slices.SortStableFunc(list, func(a, b FailureStatus) int {
		switch x, y := a.concernsOne(), b.concernsOne(); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	})
	return list, nil
}

// addFailures adds the failures of this account.
func (as *AccountStatus) addFailures(failures []FailureStatus) {
	as.Failures = []FailureStatus{}
	for _, f := range failures {
		if f.Account != as.Name {
			continue
		}
		if as.OpenFailures++; as.OpenFailures <= maxAccountFailures {
			as.Failures = append(as.Failures, f)
		}
	}
}

// accountStatus reads the state of one account.
func (s *Syncer) accountStatus(ctx context.Context, a *account) (AccountStatus, error) {
	used, err := a.Client.Usage(ctx)
	if err != nil {
		return AccountStatus{}, err
	}
	as := AccountStatus{Name: a.Name, UsableSince: a.usableSince(), LastSuccess: map[string]time.Time{}, NextRun: map[string]time.Time{},
		Budget: used}
	if a.suspension() == nil {
		if err := s.loadSuspensions(ctx); err != nil {
			return as, err
		}
	}
	if p := a.suspension(); p != nil {
		as.Suspended, as.SuspendedSince = p.Reason, p.Since
	}
	for _, job := range jobs {
		at, err := s.lastRun(ctx, a, job)
		if err != nil {
			return as, err
		}
		if !at.IsZero() {
			as.LastSuccess[job] = at
		}
		if a.isRunning(job) {
			as.Running = append(as.Running, job)
		}
	}
	now := s.now()
	tables, _ := s.schedule.all()
	for _, table := range tables {
		as.NextRun[table.job] = table.cron.Next(now)
	}
	as.ContentTasks, as.ContentTasksDue, as.NextContentTask, _ = s.content.status(a.Name, now)
	as.Backfilled, err = s.isBackfilled(ctx, a)
	if t := a.run(JobBackfill); t != nil {
		e := s.progressEvent(ctx, []*account{a}, t)
		as.Reading = &e
	}
	return as, err
}

// problems are the reasons why parts of the sync do not work at present, such
// as a full disk.
type problems struct {
	mu      sync.Mutex // guards the fields below
	current map[string]problem
}

// problem is why a part does not work: in words, and without the numbers that change
// while the reason is the same.
type problem struct{ text, reason string }

func newProblem(err error) problem {
	if _, ok := errors.AsType[*lowDiskError](err); ok {
		return problem{err.Error(), "low disk"}
	}
	return problem{err.Error(), err.Error()}
}

// reportHealth records a part's error, and logs it once; nil says that the part
// works again.
func (s *Syncer) reportHealth(part string, err error) {
	t := &s.problems
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if _, repeated := t.current[part]; repeated {
			s.log.Info().Str("part", part).Msg("works again")
			delete(t.current, part)
		}
		return
	}
	if t.current == nil {
		t.current = map[string]problem{}
	}
	next := newProblem(err)
	if t.current[part].reason != next.reason {
		s.log.Error().Str("part", part).Err(err).Msg("does not work at present")
	}
	t.current[part] = next
}

// list returns one line for each part that does not work.
func (t *problems) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, part := range slices.Sorted(maps.Keys(t.current)) {
		out = append(out, part+": "+t.current[part].text)
	}
	return out
}
