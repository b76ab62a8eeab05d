package archive

import (
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestAnEarlierGroupKeepsNoMeeting changes the recorders that an account asks for, so that
// their query has another name: a meeting that the present one has shown and lacks is gone,
// though the former one showed it to the end. One that only the former showed is not.
func TestAnEarlierGroupKeepsNoMeeting(t *testing.T) {
	a := newArchive(t)
	set := func(queries ...string) {
		t.Helper()
		must(t, a.SetAccounts(t.Context(), []AccountSetting{{Name: "ann", Queries: queries}}))
	}
	set("", "recorded_by:1", "teams:1")
	walkTwice(t, a, "ann", "recorded_by:1", 1, 2, 3)
	walkTwice(t, a, "ann", "teams:1", 3)
	set("", "recorded_by:2", "teams:1")
	walkTwice(t, a, "ann", "recorded_by:2", 1, 3, 4)
	if gone := walkTwice(t, a, "ann", "recorded_by:2", 4).Gone; !slices.Equal(gone, []int64{1}) {
		t.Errorf("gone are %v; want 1, since the team's query shows 3", gone)
	}
}

// TestNoListThatIsNotReadKeepsAMeeting follows meetings that lists showed which left the
// configuration: such a meeting is gone when a list that is read has shown it and lacks it,
// and no other list that is read shows it.
func TestNoListThatIsNotReadKeepsAMeeting(t *testing.T) {
	both := []AccountSetting{{Name: "ann", Credential: "a", Queries: []string{"", "teams:1"}}, {Name: "bob", Credential: "b", Queries: []string{"", "teams:1"}}}
	with := func(change func(ann *AccountSetting)) []AccountSetting {
		list := slices.Clone(both)
		change(&list[0])
		return list
	}
	bobAlone := both[1:]
	noTeams := with(func(ann *AccountSetting) { ann.Queries = []string{""} })
	otherTeams := with(func(ann *AccountSetting) { ann.Queries = []string{"", "teams:2"} })
	otherKey := with(func(ann *AccountSetting) { ann.Credential = "c" })
	renamed := with(func(ann *AccountSetting) { ann.Name = "anna" })
	type show struct {
		account, query string
		ids            []int64
	}
	for name, c := range map[string]struct {
		before []show // whole lists, each read twice
		then   []AccountSetting
		after  []show
		gone   []int64
	}{
		"a team's list ended":          {[]show{{"ann", "", []int64{1, 2}}, {"ann", "teams:1", []int64{1, 3}}}, noTeams, []show{{"ann", "", []int64{2}}}, []int64{1}},
		"the list has other teams":     {[]show{{"ann", "", []int64{1, 2}}, {"ann", "teams:1", []int64{1, 3}}}, otherTeams, []show{{"ann", "", []int64{2}}}, []int64{1}},
		"another list shows it":        {[]show{{"ann", "", []int64{1}}, {"ann", "teams:1", []int64{1}}}, otherTeams, []show{{"ann", "teams:2", []int64{1}}, {"ann", "", nil}}, nil},
		"another account shows it":     {[]show{{"ann", "", []int64{1}}, {"ann", "teams:1", []int64{1}}, {"bob", "", []int64{1}}}, noTeams, []show{{"ann", "", nil}}, nil},
		"the account left":             {[]show{{"ann", "", []int64{1, 2, 3}}, {"bob", "", []int64{1, 2}}}, bobAlone, []show{{"bob", "", []int64{2}}}, []int64{1}},
		"the account left, teams":      {[]show{{"ann", "", []int64{1, 2, 3}}, {"bob", "teams:1", []int64{1, 2}}}, bobAlone, []show{{"bob", "teams:1", []int64{2}}}, []int64{1}},
		"the account was renamed":      {[]show{{"ann", "", []int64{1, 2}}}, renamed, []show{{"anna", "", []int64{1}}, {"anna", "", nil}}, []int64{1}},
		"the account has another key":  {[]show{{"ann", "", []int64{1, 2, 3}}, {"bob", "", []int64{1, 2}}}, otherKey, []show{{"bob", "", []int64{2}}}, []int64{1}},
		"lacked before the list ended": {[]show{{"ann", "teams:1", []int64{1}}, {"ann", "", []int64{1, 2}}, {"ann", "", []int64{2}}}, noTeams, []show{{"ann", "", []int64{2}}}, []int64{1}},
		"shown after it was lacked":    {[]show{{"ann", "teams:1", []int64{1}}, {"ann", "", []int64{1, 2}}, {"ann", "", []int64{2}}, {"ann", "teams:1", []int64{1}}}, noTeams, []show{{"ann", "", []int64{2}}}, nil},
		"all have left":                {[]show{{"ann", "", []int64{1}}, {"bob", "", []int64{1}}, {"bob", "", nil}}, bobAlone, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, gone := epoch0, []int64(nil)
			a, err := Open(t.Context(), Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop(), Now: func() time.Time { return now }})
			must(t, err)
			t.Cleanup(func() { a.Close() })
			read := func(list []show) {
				t.Helper()
				for _, s := range list {
					for range 2 {
						w := beginWalk(t, a, s.account, s.query)
						batch := listObservations(s.account, s.query, w.Number, s.ids...)
						for i := range batch {
							batch[i].At = now
						}
						apply(t, a, batch...)
						now = now.Add(time.Minute)
						gone = append(gone, completeWalk(t, a, w).Gone...)
						now = now.Add(time.Minute)
					}
				}
			}
			must(t, a.SetAccounts(t.Context(), both))
			read(c.before)
			must(t, a.SetAccounts(t.Context(), c.then))
			read(c.after)
			if !slices.Equal(gone, c.gone) {
				t.Errorf("gone are %v, want %v", gone, c.gone)
			}
		})
	}
}
