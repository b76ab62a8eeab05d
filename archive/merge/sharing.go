package merge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"

	"minutebook/api"
	"minutebook/internal/rawjson"
)

// sharing is the content of a version that decides who sees the meeting.
type sharing struct {
	with string // shared_with
	team string // the recorder's
}

// Gist is all of a version of the part "meeting" by which accounts are compared. It follows
// from the canonical content alone.
type Gist struct {
	sharing
	says bool // with whom the meeting is shared
	// terms is a hash of the values by which rules of retention choose.
	terms [sha256.Size]byte
}

// HasTerms reports whether two versions have the same recorder, type and times, by which
// rules of retention go.
func (g Gist) HasTerms(h Gist) bool { return g.terms == h.terms }

// ReadGist reads the gist of a version.
func ReadGist(raw []byte) (g Gist) {
	members := rawjson.Map(raw)
	g.team = readPerson(members[keyRecorder]).text("team")
	if value := members["shared_with"]; value != nil && rank("shared_with", value) == rankContent {
		g.with, g.says = rawjson.Text(value), true
	}
	var terms rawjson.Object
	for _, key := range []string{keyRecorder, "meeting_type", "recording_start_time", "scheduled_start_time", "created_at"} {
		if value, ok := members[key]; ok {
			terms.Set(key, value)
		}
	}
	g.terms = sha256.Sum256(terms.Bytes())
	return g
}

// reaches lists the values of shared_with, the narrowest first. multiple_teams does not
// name the teams, so it shows the meeting to fewer people than single_team does.
var reaches = []string{api.SharedNoTeams, api.SharedMultipleTeams, api.SharedSingleTeam, api.SharedAllTeams}

// reach returns the place of shared_with in reaches; an unknown value is like none.
func (s sharing) reach() int { return max(slices.Index(reaches, s.with), 0) }

// reader is an account with the versions that it was shown by reads.
type reader struct {
	name   string
	shown  []Showing
	first  int64   // its first read of any version
	newest Showing // its newest version
	says   sharing // in newest
}

// began returns the earliest number at which the reader can have begun to be shown only
// versions that same accepts, as in its newest read.
func (r *reader) began(says map[int64]sharing, same func(sharing) bool) int64 {
	differed := int64(0)
	for _, s := range r.shown {
		if !same(says[s.Version]) {
			differed = max(differed, s.Last)
		}
	}
	began := r.newest.Last
	for _, s := range r.shown {
		if same(says[s.Version]) && s.Last > differed {
			began = min(began, max(s.First, differed+1))
		}
	}
	return began
}

// SharingRanks returns the SharingRank of the versions of the part "meeting" by their
// IDs, nil where at most one account was shown the part. The greatest rank has the
// narrowest of the newest versions of the accounts, so that accounts that are shown
// different values for good neither take turns nor widen who sees the meeting. The
// version of an account does not count when the value of another account changed
// after it, since it may be out of date, and when it is older by homeStays. An account
// that is shown the meeting no more decides only until another account's version counts:
// nobody can tell whether its value has changed since.
func SharingRanks(shown []Showing, versions []*Version, gists map[int64]Gist) map[int64]int64 {
	says, hashes := map[int64]sharing{}, map[int64][]byte{}
	for _, v := range versions {
		if g := gists[v.ID]; g.says {
			says[v.ID], hashes[v.ID] = g.sharing, v.Hash[:]
		}
	}
	readers := readersOf(shown, says, hashes)
	if len(readers) < 2 {
		return nil
	}
	newest := int64(0)
	for _, r := range readers {
		newest = max(newest, r.newest.Last)
	}
	var counted []*reader
	for _, r := range readers {
		outdated := r.isOutdated(readers, says, func(a, b sharing) bool { return a.with == b.with })
		if !outdated && r.newest.Last >= newest-homeStays {
			counted = append(counted, r)
		}
	}
	if current := slices.DeleteFunc(slices.Clone(counted), func(r *reader) bool { return r.newest.Ended }); len(current) > 0 {
		counted = current
	}
	alike := func(a, b sharing) bool { return a == b }
	stale := map[string]int{} // 1: with an older team
	for _, r := range counted {
		if r.isOutdated(counted, says, alike) {
			stale[r.name] = 1
		}
	}
	slices.SortFunc(counted, func(a, b *reader) int {
		return cmp.Or(cmp.Compare(a.says.reach(), b.says.reach()), cmp.Compare(stale[a.name], stale[b.name]),
			cmp.Compare(min(len(a.says.team), 1), min(len(b.says.team), 1)), cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name))
	})
	ranks := map[int64]int64{}
	for i, r := range counted {
		ranks[r.newest.Version] = max(ranks[r.newest.Version], int64(len(counted)-i))
	}
	return ranks
}

// readersOf groups the showings by account, without those that say nothing.
func readersOf(shown []Showing, says map[int64]sharing, hashes map[int64][]byte) []*reader {
	byName := map[string]*reader{}
	var readers []*reader
	for _, s := range shown {
		if _, ok := says[s.Version]; !ok {
			continue
		}
		r := byName[s.Account]
		if r == nil {
			r = &reader{name: s.Account, first: s.First, newest: s}
			byName[s.Account], readers = r, append(readers, r)
		}
		r.shown, r.first = append(r.shown, s), min(r.first, s.First)
		if s.Last > r.newest.Last || s.Last == r.newest.Last && bytes.Compare(hashes[s.Version], hashes[r.newest.Version]) > 0 {
			r.newest = s
		}
		r.says = says[r.newest.Version]
	}
	return readers
}

// isOutdated tells whether another reader's value changed after the last read of this one.
func (r *reader) isOutdated(readers []*reader, says map[int64]sharing, same func(a, b sharing) bool) bool {
	return slices.ContainsFunc(readers, func(other *reader) bool {
		return other != r && other.began(says, func(s sharing) bool { return same(s, other.says) }) > r.newest.Last
	})
}
