package control_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
	"minutebook/internal/testrun"
)

func TestUpkeepPlan(t *testing.T) {
	nightly, err := cron.ParseStandard("0 4 * * *")
	if err != nil {
		t.Fatal(err)
	}
	day := func(d, hour int) time.Time { return time.Date(2026, 3, d, hour, 0, 0, 0, time.UTC) }
	p := control.UpkeepPlan{Backup: nightly, Verify: nightly, Prove: 30 * 24 * time.Hour, Slices: 30, To: "/usb"}
	const b, v, r = control.UpkeepBackup, control.UpkeepVerify, control.UpkeepProve
	for name, c := range map[string]struct {
		states map[string]control.UpkeepState
		now    time.Time
		want   map[string]time.Time
	}{
		"never ran":                       {nil, day(1, 13), map[string]time.Time{b: day(2, 4), v: day(2, 4)}},
		"after a run":                     {map[string]control.UpkeepState{b: {Began: day(2, 4), Succeeded: day(2, 4), Destination: "/usb"}}, day(2, 5), map[string]time.Time{b: day(3, 4), v: day(2, 4), r: day(2, 4)}},
		"backed up elsewhere":             {map[string]control.UpkeepState{b: {Began: day(2, 4), Succeeded: day(2, 4), Destination: "/nas", Highest: map[string]string{"/nas": "generation-000001"}}}, day(2, 5), map[string]time.Time{b: day(3, 4), v: day(2, 4)}},
		"moved elsewhere and back":        {map[string]control.UpkeepState{b: {Began: day(2, 4), Succeeded: day(2, 4), Destination: "/nas", Highest: map[string]string{"/usb": "generation-000001"}}}, day(2, 5), map[string]time.Time{b: day(3, 4), v: day(2, 4), r: day(2, 4)}},
		"missed nights":                   {map[string]control.UpkeepState{b: {Began: day(2, 4)}}, day(9, 5), map[string]time.Time{b: day(3, 4), v: day(2, 4)}},
		"dated in the future":             {map[string]control.UpkeepState{b: {Began: day(20, 4), Planned: day(2, 3)}}, day(2, 5), map[string]time.Time{b: day(2, 4), v: day(2, 4)}},
		"dated in the future, and failed": {map[string]control.UpkeepState{b: {Began: day(20, 4), Error: "no", Planned: day(2, 3)}}, day(2, 5), map[string]time.Time{b: day(2, 4), v: day(2, 4)}},
		"nothing but the future":          {map[string]control.UpkeepState{b: {Began: day(20, 4), Error: "no", Planned: day(20, 3)}}, day(2, 5), map[string]time.Time{b: day(3, 4), v: day(2, 4)}},
		"proven": {map[string]control.UpkeepState{b: {Began: day(2, 4), Succeeded: day(2, 4), Destination: "/usb"}, r: {Began: day(2, 5)}}, day(3, 5),
			map[string]time.Time{b: day(3, 4), v: day(2, 4), r: day(2, 5).Add(p.Prove)}},
		"read yesterday, on at day": {map[string]control.UpkeepState{b: {Planned: day(1, 9)}, v: {Began: day(20, 4), Planned: day(1, 9)}}, day(2, 9),
			map[string]time.Time{b: day(2, 4), v: day(2, 4)}},
		"failed":                           {map[string]control.UpkeepState{b: {Began: day(2, 4), Error: "no", Failures: 1}, v: {Began: day(2, 4), Error: "no", Failures: 2}}, day(2, 4), map[string]time.Time{b: day(2, 4).Add(10 * time.Minute), v: day(2, 5)}},
		"failed often":                     {map[string]control.UpkeepState{b: {Began: day(2, 5), Error: "no", Failures: 3}, v: {Began: day(2, 5), Error: "no", Failures: 9}}, day(2, 6), map[string]time.Time{b: day(2, 9), v: day(2, 9)}},
		"failed, and the next time is due": {map[string]control.UpkeepState{b: {Began: day(2, 22), Error: "no", Failures: 4, Seconds: 3 * 3600}, v: {Began: day(3, 1), Error: "no", Failures: 4}}, day(3, 2), map[string]time.Time{b: day(3, 4), v: day(3, 4)}},
		"failed before failures counted":   {map[string]control.UpkeepState{b: {Began: day(2, 4), Error: "no"}}, day(2, 4), map[string]time.Time{b: day(2, 4).Add(10 * time.Minute), v: day(2, 4)}},
		"backup failed after hours":        {map[string]control.UpkeepState{b: {Began: day(2, 4), Error: "no", Failures: 2, Seconds: 5 * 3600}}, day(2, 9), map[string]time.Time{b: day(2, 10), v: day(2, 4)}},
		"backup failed after a day":        {map[string]control.UpkeepState{b: {Began: day(2, 4), Error: "no", Failures: 2, Seconds: 27 * 3600}}, day(3, 7), map[string]time.Time{b: day(3, 8), v: day(2, 4)}},
		"proof failed": {map[string]control.UpkeepState{b: {Began: day(2, 4), Succeeded: day(2, 4), Destination: "/usb"}, r: {Began: day(2, 5), Error: "no"}}, day(2, 6),
			map[string]time.Time{b: day(3, 4), v: day(2, 4), r: day(3, 5)}},
	} {
		states := map[string]control.UpkeepState{v: {Planned: day(1, 12)}}
		maps.Copy(states, c.states)
		if next := p.Next(states, c.now); !maps.EqualFunc(next, c.want, time.Time.Equal) {
			t.Errorf("%s: %v, want %v", name, next, c.want)
		}
	}
	for name, c := range map[string]struct {
		state control.UpkeepState
		now   time.Time
		want  []int
	}{
		"first":           {control.UpkeepState{}, day(2, 4), []int{0}},
		"next night":      {control.UpkeepState{Slices: 30, Slice: 29, Began: day(1, 4)}, day(2, 4), []int{29}},
		"two nights lost": {control.UpkeepState{Slices: 30, Slice: 29, Began: day(1, 4)}, day(4, 4), []int{29, 0, 1}},
		"divided anew":    {control.UpkeepState{Slices: 7, Slice: 5, Began: day(1, 4)}, day(2, 4), []int{0}},
		"a night failed":  {control.UpkeepState{Slices: 30, Slice: 29, Began: day(3, 4), Succeeded: day(1, 4), Error: "no"}, day(3, 5), []int{29, 0}},
	} {
		if got := p.NextSlices(c.state, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%s: slices %v, want %v", name, got, c.want)
		}
	}
}

// TestAClockThatWasAheadDelaysNoUpkeep has the clock a year ahead while the daemon reads its
// schedules, and while a backup fails, as a bucket's do then: the next times are those of the
// clock once it is right.
func TestAClockThatWasAheadDelaysNoUpkeep(t *testing.T) {
	nightly, err := cron.ParseStandard("0 4 * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, hasFailed := range []bool{false, true} {
		now := archivetest.Epoch.AddDate(1, 0, 0)
		a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return now })
		h := control.Deps{Archive: a, Logger: zerolog.Nop(), Activities: &control.Activities{}}
		next := func() time.Time {
			t.Helper()
			if err := h.PlanUpkeep(t.Context(), control.UpkeepBackup); err != nil {
				t.Fatal(err)
			}
			u, err := h.UpkeepState(t.Context(), control.UpkeepBackup)
			if err != nil {
				t.Fatal(err)
			}
			return control.UpkeepPlan{Backup: nightly}.Next(map[string]control.UpkeepState{control.UpkeepBackup: u}, now)[control.UpkeepBackup]
		}
		if next(); hasFailed {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := control.Call[backup.Result](t.Context(), control.Operations(h), "backup", control.BackupRequest{Destination: file, Keep: 1, Scheduled: true}, nil); err == nil {
				t.Fatal("a backup into a file succeeds")
			}
		}
		now = archivetest.Epoch
		want := nightly.Next(now)
		if got := next(); !got.Equal(want) {
			t.Errorf("failed %t: once the clock is right, the next backup is due at %v, want %v", hasFailed, got, want)
		}
		now = want.Add(time.Hour)
		if got := next(); !got.Equal(want) {
			t.Errorf("failed %t: an hour later it was due at %v, want %v", hasFailed, got, want)
		}
	}
}

// TestUpkeepIsKept backs up, proves and checks, with and without damage, and reads the state that
// each job leaves.
func TestUpkeepIsKept(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, _, _ := indexed(t)
	to := t.TempDir()
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Proof: control.Proof{From: to}, Activities: &control.Activities{}}
	ops := control.Operations(deps)
	state := func(job string) control.UpkeepState {
		t.Helper()
		u, err := deps.UpkeepState(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if _, err := control.Call[backup.Proof](t.Context(), ops, "prove", struct{}{}, nil); err == nil || state(control.UpkeepProve).Error == "" {
		t.Errorf("a directory without backups is proven: %v", err)
	}
	if _, err := control.Call[backup.Result](t.Context(), ops, "backup", control.BackupRequest{Destination: to, Keep: 7}, nil); err != nil {
		t.Fatal(err)
	}
	p, err := control.Call[backup.Proof](t.Context(), ops, "prove", struct{}{}, nil)
	if err != nil || !p.Restored || p.Meetings != 5 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, job := range []string{control.UpkeepBackup, control.UpkeepProve} {
		if u := state(job); u.Error != "" || u.Succeeded.IsZero() || u.Result == "" {
			t.Errorf("%s: %+v", job, u)
		}
	}
	file, err := filepath.Glob(filepath.Join(to, "generation-*", "archive.db*"))
	if err != nil || len(file) != 1 || os.Truncate(file[0], 10) != nil {
		t.Fatal(file, err)
	}
	if _, err := control.Call[backup.Proof](t.Context(), ops, "prove", struct{}{}, nil); err == nil || state(control.UpkeepProve).Error == "" {
		t.Errorf("a damaged backup is proven: %v", err)
	}
	slices := 3
	checked := func(slice int) control.UpkeepState {
		t.Helper()
		if _, err := control.Call[archive.Verified](t.Context(), ops, "verify", control.VerifyRequest{Slice: slice, Slices: slices}, nil); err != nil {
			t.Fatal(err)
		}
		return state(control.UpkeepVerify)
	}
	if u := checked(1); u.Slice != 2 || u.Damaged() != 0 {
		t.Errorf("%+v", u)
	}
	behindTheBack(t, a, `UPDATE bodies SET size = size + 1 WHERE revision_id IN (SELECT id FROM revisions WHERE id % 3 = 1)`)
	if u := checked(1); u.Slice != 2 || u.Damaged() == 0 || !u.Whole.IsZero() {
		t.Errorf("%+v", u)
	}
	if u := checked(2); u.Slice != 0 || u.Damaged() == 0 || u.Whole.IsZero() {
		t.Errorf("%+v", u)
	}
	behindTheBack(t, a, `UPDATE bodies SET size = size - 1 WHERE revision_id IN (SELECT id FROM revisions WHERE id % 3 = 1)`)
	slices = 4 // earlier damage stays until all is checked by this division
	if u := checked(1); u.Damaged() == 0 {
		t.Errorf("%+v", u)
	}
	if u := checked(3); u.Damaged() != 0 {
		t.Errorf("%+v", u)
	}
}

// TestBackupsThatVanishAreReported makes backups in a directory that is emptied between two
// of them, as when its disk is not mounted any more.
func TestBackupsThatVanishAreReported(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, _, _ := indexed(t)
	to := filepath.Join(t.TempDir(), "usb")
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Activities: &control.Activities{}}
	ops := control.Operations(deps)
	for _, c := range []struct {
		to       string
		isGone   bool
		accepted bool
		warnings int
	}{{to, false, false, 0}, {to, false, false, 0}, {to, true, false, 1}, {to, false, false, 1}, // until the highest is passed
		{to + "-other", false, false, 0}, {to + "-other", true, false, 1}, {to + "-other", false, false, 0}, {to, false, false, 0},
		{to, true, false, 1}, {to, false, true, 0}, {to, false, false, 0}} {
		if c.isGone {
			if err := os.RemoveAll(c.to); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := control.Call[backup.Result](t.Context(), ops, "backup", control.BackupRequest{Destination: c.to, Keep: 7, AcceptFewer: c.accepted}, nil); err != nil {
			t.Fatal(err)
		}
		u, err := deps.UpkeepState(t.Context(), control.UpkeepBackup)
		if err != nil || len(u.Warnings) != c.warnings || c.warnings > 0 && !strings.Contains(u.Warnings[0], "which are gone: is its disk mounted") {
			t.Errorf("%+v: %q, %v", c, u.Warnings, err)
		}
	}
}

// TestAClockThatLeaptDuringAProofDelaysNone has a proof and a backup fail while the clock is ahead by
// 40 days, which it was not when they began: they are tried again as soon as after any other failure.
func TestAClockThatLeaptDuringAProofDelaysNone(t *testing.T) {
	weekly, err := cron.ParseStandard("0 4 * * 0")
	if err != nil {
		t.Fatal(err)
	}
	now := archivetest.Epoch
	failed := control.UpkeepState{Began: now.Add(-time.Hour), Succeeded: now.Add(-10 * time.Hour), Seconds: (40 * 24 * time.Hour).Seconds(), Error: "no", Failures: 1, Destination: "/usb"}
	next := control.UpkeepPlan{Backup: weekly, Prove: 7 * 24 * time.Hour, To: "/usb"}.Next(map[string]control.UpkeepState{control.UpkeepBackup: failed, control.UpkeepProve: failed}, now)
	if want := map[string]time.Time{control.UpkeepBackup: failed.Began.Add(10 * time.Minute), control.UpkeepProve: failed.Began.Add(24 * time.Hour)}; !maps.EqualFunc(next, want, time.Time.Equal) {
		t.Errorf("%v, want %v", next, want)
	}
}

// TestABackupBesideAnotherIsRefusedAndNotFailed asks for a second backup while the first runs.
func TestABackupBesideAnotherIsRefusedAndNotFailed(t *testing.T) {
	a, _, _ := indexed(t)
	deps := control.Deps{Archive: a, Logger: zerolog.Nop(), Activities: &control.Activities{}}
	ops := control.Operations(deps)
	q := control.BackupRequest{Destination: filepath.Join(t.TempDir(), "to"), Keep: 7}
	second := sync.OnceFunc(func() {
		for _, q.Scheduled = range []bool{false, true} {
			_, err := control.Call[backup.Result](t.Context(), ops, "backup", q, nil)
			if err == nil || !strings.Contains(err.Error(), "another backup is being made there") {
				t.Errorf("the second backup: %v", err)
			}
			if u, err := deps.UpkeepState(t.Context(), control.UpkeepBackup); err != nil || (u.Error != "") != q.Scheduled || u.Scheduled != q.Scheduled {
				t.Errorf("scheduled %t: %+v, %v", q.Scheduled, u, err)
			}
		}
	})
	if _, err := control.Call[backup.Result](t.Context(), ops, "backup", q, func(json.RawMessage) error {
		second()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if u, err := deps.UpkeepState(t.Context(), control.UpkeepBackup); err != nil || u.Error != "" || u.Succeeded.IsZero() {
		t.Errorf("after the first: %+v, %v", u, err)
	}
}

// TestAPanicFailsTheJobAlone has a backup panic: the job has failed, its next turn is by
// the schedule, and the next backup is made.
func TestAPanicFailsTheJobAlone(t *testing.T) {
	var looks atomic.Int64 // at which the clock panics: the second one of the backup
	looks.Store(-1 << 40)
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time {
		if looks.Add(1) == 2 {
			panic("the clock fell down")
		}
		return archivetest.Epoch
	})
	h := control.Deps{Archive: a, Logger: zerolog.Nop(), Activities: &control.Activities{}}
	request := control.BackupRequest{Destination: filepath.Join(t.TempDir(), "usb"), Keep: 1, Scheduled: true}
	looks.Store(0)
	_, err := control.Call[backup.Result](t.Context(), control.Operations(h), "backup", request, nil)
	u, _ := h.UpkeepState(t.Context(), control.UpkeepBackup)
	if err == nil || !strings.Contains(u.Error, "the clock fell down") || u.Began.IsZero() || !u.Succeeded.IsZero() {
		t.Errorf("%v, %+v", err, u)
	}
	if _, err := control.Call[backup.Result](t.Context(), control.Operations(h), "backup", request, nil); err != nil {
		t.Errorf("the next backup: %v", err)
	}
}
