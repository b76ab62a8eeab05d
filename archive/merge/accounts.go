package merge

import (
	"cmp"
	"maps"
	"slices"
)

// Showing says when an account was shown a version by reads.
type Showing struct {
	Version int64 // its ID
	Account string
	First   int64 // the number of the first read
	Last    int64 // of the latest
	Ended   bool  // the account is shown the meeting no more
}

// homeStays is how long an account stays the home of a part that only others read any
// more, in milliseconds, which the numbers of reads are: longer than a round of the
// service's rotation through old meetings.
const homeStays = 90 * 24 * 60 * 60 * 1000

// lastDays is how long before anybody was last shown a meeting's row an account was shown it too, to
// decide about it afterwards as before, in milliseconds: walks fail, and keys are renewed.
const lastDays = 7 * 24 * 60 * 60 * 1000

// CountingDates returns the CountsAt of the versions of a part by their IDs, nil where
// at most one account was shown the part. A version that the home account was shown
// counts by the home's latest read of it, any other by the first read. So a version
// that is shown again to another account changes nothing, and new content counts from
// any account.
//
// Home is the account that was shown the part first, of those that are still shown the
// meeting, all where none is, and that were shown the part within homeStays before the latest
// read of them. Of the part "meeting", whose versions are given, an account that was shown the
// recorder's team within that time goes before others: the team can change there and back, and a
// name that comes back counts only at home. Reads of an account's former holder do not say which
// team the account is shown. Of this part, which walks read each night, only accounts of its
// lastDays are home where nobody is shown the meeting. Where home is shown no team, that one
// of the lastDays on which anybody was shown one counts too, by its reads of versions with a team.
func CountingDates(shown []Showing, versions map[int64]Gist) map[int64]int64 {
	accounts := latestShowings(shown)
	if len(accounts) < 2 {
		return nil
	}
	counts := map[int64]int64{}
	for _, s := range shown {
		if at, ok := counts[s.Version]; !ok || s.First < at {
			counts[s.Version] = s.First
		}
	}
	candidates := slices.DeleteFunc(slices.Collect(maps.Values(accounts)), func(a Showing) bool { return a.Ended })
	var stays int64 = homeStays
	if len(candidates) == 0 {
		candidates = slices.Collect(maps.Values(accounts))
		if versions != nil {
			stays = lastDays
		}
	}
	present := slices.DeleteFunc(slices.Clone(shown), func(s Showing) bool { return s.Ended && !accounts[s.Account].Ended })
	home, isBlind := homeAmong(candidates, stays, present, versions)
	countHome(counts, home, shown)
	if isBlind {
		withTeam := slices.DeleteFunc(slices.Clone(shown), func(s Showing) bool { return versions[s.Version].team == "" })
		if len(withTeam) > 0 {
			latest := latestShowings(withTeam)
			for name, a := range latest {
				a.First = accounts[name].First
				latest[name] = a
			}
			former, _ := homeAmong(slices.Collect(maps.Values(latest)), lastDays, withTeam, versions)
			countHome(counts, former, withTeam)
		}
	}
	return counts
}

// countHome makes the versions that home was shown count by its latest reads.
func countHome(counts map[int64]int64, home string, shown []Showing) {
	for _, s := range shown {
		if s.Account == home {
			counts[s.Version] = max(counts[s.Version], s.Last)
		}
	}
}

// latestShowings returns the latest showing of each account, with the first read of all of them.
func latestShowings(shown []Showing) map[string]Showing {
	accounts := map[string]Showing{}
	for _, s := range shown {
		a, ok := accounts[s.Account]
		if !ok {
			a = s
		}
		first := min(a.First, s.First)
		if s.Last > a.Last {
			a = s
		}
		a.First = first
		accounts[s.Account] = a
	}
	return accounts
}

// homeAmong returns the home among those of candidates, at least one, that read within stays
// before the latest read of any, and whether it was shown no version with the recorder's team
// lately.
func homeAmong(candidates []Showing, stays int64, shown []Showing, versions map[int64]Gist) (home string, isBlind bool) {
	newest := slices.MaxFunc(candidates, func(a, b Showing) int { return cmp.Compare(a.Last, b.Last) }).Last
	candidates = slices.DeleteFunc(candidates, func(a Showing) bool { return a.Last < newest-stays })
	recent := slices.DeleteFunc(slices.Clone(shown), func(s Showing) bool { return s.Last < newest-homeStays })
	blind := accountsWithoutTeam(recent, versions)
	home = slices.MinFunc(candidates, func(a, b Showing) int {
		return cmp.Or(cmp.Compare(blind[a.Account], blind[b.Account]), cmp.Compare(a.First, b.First), cmp.Compare(a.Account, b.Account))
	}).Account
	return home, blind[home] == 1
}

// accountsWithoutTeam returns 1 for each account of shown that was shown no version with the
// recorder's team, and 0 for the others.
func accountsWithoutTeam(shown []Showing, versions map[int64]Gist) map[string]int {
	without := map[string]int{}
	for _, s := range shown {
		if _, ok := without[s.Account]; !ok {
			without[s.Account] = 1
		}
		if versions[s.Version].team != "" {
			without[s.Account] = 0
		}
	}
	return without
}
