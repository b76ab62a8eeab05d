package archive

import (
	"errors"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// TestAKeyThatWorksOutlastsAFormerAddress has kim deactivated by a list of boss that names an
// address kim has no more. The account of the present one is read by its key.
func TestAKeyThatWorksOutlastsAFormerAddress(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const former, present = "kim@acme.example", "kim@new.example"
	own := AccountSetting{Name: "kim", Email: present, Credential: "k", Queries: []string{""}}
	put := func(account string) func(*Archive) error {
		return func(a *Archive) error {
			return a.PutUsers(t.Context(), account, statuses(former, api.StatusDeactivated))
		}
	}
	for name, c := range map[string]struct {
		before, after func(*Archive) error
		oauth         bool
		want          bool // kim sees the meeting that the account lists
	}{
		"read since":            {want: true},
		"by an OAuth token":     {oauth: true},
		"by a later list":       {after: put("boss")},
		"by a later other list": {after: put("anna")},
		"by a part of a later list": {after: func(a *Archive) error {
			return a.PutSomeUsers(t.Context(), "boss", statuses(former, api.StatusDeactivated))
		}},
		"invited since": {after: func(a *Archive) error {
			return a.PutSomeUsers(t.Context(), "boss", statuses(present, api.StatusInvited))
		}},
		"by what is said here": {before: put(LocalAccount)},
		"refused since":        {after: func(a *Archive) error { return a.SetSuspended(t.Context(), "kim", true) }},
		"refused and accepted since, not read": {after: func(a *Archive) error {
			return errors.Join(a.SetSuspended(t.Context(), "kim", true), a.SetSuspended(t.Context(), "kim", false))
		}},
		"with another key since": {after: func(a *Archive) error {
			other := own
			other.Credential = "other"
			return a.SetAccounts(t.Context(), []AccountSetting{other})
		}},
		"has left and come back": {after: func(a *Archive) error {
			return errors.Join(a.SetAccounts(t.Context(), []AccountSetting{{Name: "boss"}}), a.SetAccounts(t.Context(), []AccountSetting{own}))
		}},
		"another person's since": {after: func(a *Archive) error { return a.PutAccountPerson(t.Context(), "kim", "lee@new.example") }},
		"has left since":         {after: func(a *Archive) error { return a.SetAccounts(t.Context(), []AccountSetting{{Name: "boss"}}) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			do := func(steps ...func(*Archive) error) {
				t.Helper()
				for _, step := range steps {
					if step != nil {
						if err := step(a); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			do(func(a *Archive) error { return a.SetAccounts(t.Context(), []AccountSetting{own}) }, put("boss"), c.before)
			walk := func() (logged int) {
				w, err := a.BeginWalk(t.Context(), "kim", "")
				if err == nil {
					o := listedMeeting(t, "kim", "", 0, 1, "bob@acme.example", "", api.SharedNoTeams)
					o.Walk = w.Number
					apply(t, a, o)
					w.ByKey = !c.oauth
					logged = -directoryChanges(t, a)
					_, err = a.CompleteWalk(t.Context(), w)
				}
				if err != nil {
					t.Fatal(err)
				}
				return logged + directoryChanges(t, a)
			}
			first, second := walk(), walk()
			if second > 0 || (first != 1) != c.oauth {
				t.Errorf("the return is logged %d times, and by another walk %d times", first, second)
			}
			do(c.after)
			viewer := ViewerWith(former, present)
			rows, err := a.List(t.Context(), ListQuery{Viewer: viewer})
			if err != nil || (len(rows) == 1) != c.want {
				t.Errorf("kim sees %d meetings, %v", len(rows), err)
			}
			both, err := a.AreDeactivated(t.Context(), [][]string{{former, present}, {former}})
			if err != nil || both[0] == c.want || !both[1] {
				t.Errorf("kim, and whoever has the former address alone, are deactivated: %v, %v", both, err)
			}
			if c.after == nil || c.oauth {
				return
			}
			do(func(a *Archive) error { return a.SetSuspended(t.Context(), "kim", false) }, func(a *Archive) error { return a.SetAccounts(t.Context(), []AccountSetting{own}) },
				func(a *Archive) error { return a.PutAccountPerson(t.Context(), "kim", present) })
			walk()
			if out, err := a.IsDeactivated(t.Context(), viewer.Emails); err != nil || out {
				t.Errorf("after another walk kim is deactivated %v, %v", out, err)
			}
		})
	}
}

// directoryChanges counts the changes of the directory in the log.
func directoryChanges(t *testing.T, a *Archive) (n int) {
	t.Helper()
	if err := a.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM changes WHERE kind = ?`, ChangeDirectory).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
