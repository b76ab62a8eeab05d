package merge

// Showing says when an account was shown a version by reads.
type Showing struct {
	Version int64 // its ID
	Account string
	First   int64 // the number of the first read
	Last    int64 // of the latest
}

// homeStays is how long an account stays the home of a part that only others read any
// more, in milliseconds, which the numbers of reads are: longer than a round of the
// service's rotation through old meetings.
const homeStays = 90 * 24 * 60 * 60 * 1000

// CountingDates returns the CountsAt of the versions of a part by their IDs, nil where
// at most one account was shown the part. A version that the home account was shown
// counts by the home's latest read of it, any other by the first read. So a version
// that is shown again to another account changes nothing, and new content counts from
// any account.
//
// Home is the account that was shown the part first, of those that were shown it within
// homeStays before the latest read of all.
func CountingDates(shown []Showing) map[int64]int64 {
	type span struct{ first, last int64 }
	accounts := map[string]span{}
	newest := int64(0)
	for _, s := range shown {
		a, ok := accounts[s.Account]
		if !ok {
			a = span{s.First, s.Last}
		}
		accounts[s.Account] = span{min(a.first, s.First), max(a.last, s.Last)}
		newest = max(newest, s.Last)
	}
	if len(accounts) < 2 {
		return nil
	}
	home := ""
	for name, a := range accounts {
		best, chosen := accounts[home]
		switch {
		case a.last < newest-homeStays:
		case !chosen, a.first < best.first, a.first == best.first && name < home:
			home = name
		}
	}
	counts := map[int64]int64{}
	first := map[int64]int64{}
	for _, s := range shown {
		if at, ok := first[s.Version]; !ok || s.First < at {
			first[s.Version] = s.First
		}
	}
	for _, s := range shown {
		counts[s.Version] = max(counts[s.Version], first[s.Version])
		if s.Account == home {
			counts[s.Version] = max(counts[s.Version], s.Last)
		}
	}
	return counts
}
