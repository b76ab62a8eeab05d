package archive

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/testrun"
)

type worldMeeting struct{ recorder, team, shared string }

type worldShowing struct {
	id             int64
	account, query string
}

// worldSeen is when a list last showed a meeting, 0 where an absence has ended that, and to
// whom; lacked is when a walk of the list last lacked it.
type worldSeen struct{ walk, holder, lacked int }

var worldPeople = []string{"ann@a.example", "bob@a.example", "cy@a.example", "zoe@b.example", "boss@a.example"}

// TestWhoSeesWhat makes random worlds, some of whose recorders are outside, with
// accounts and queries that leave, return and pass on, and compares the
// archive's answers, asked in each of its ways, with the specification's.
func TestWhoSeesWhat(t *testing.T) {
	testrun.SkipUnderRace(t)
	var minutes atomic.Int64
	a, err := Open(t.Context(), Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop(),
		Now: func() time.Time { return epoch0.Add(time.Duration(minutes.Load()) * time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		w := newWorld(t, a)
		for range rapid.IntRange(3, 25).Draw(t, "steps") {
			w.clock++
			minutes.Store(int64(w.clock))
			w.takeStep(t, must)
		}
		want := map[string][]int64{}
		for _, who := range worldPeople {
			want[who] = w.visibleTo(who)
		}
		ids := slices.Sorted(maps.Keys(w.meetings))
		principals, err := a.Principals(ctx, ids)
		must(err)
		for _, who := range worldPeople {
			rows, err := a.List(ctx, ListQuery{Viewer: ViewerWith(who), IncludeGone: true})
			must(err)
			var listed, byKeys []int64
			for _, r := range rows {
				listed = append(listed, r.RecordingID)
			}
			slices.Sort(listed)
			got, err := a.ViewerPrincipals(ctx, ViewerWith(who))
			must(err)
			for _, id := range ids {
				if slices.ContainsFunc(principals[id], func(p string) bool { return slices.Contains(got, p) }) {
					byKeys = append(byKeys, id)
				}
			}
			if !slices.Equal(listed, want[who]) || !slices.Equal(byKeys, want[who]) {
				t.Fatalf("%s is listed %v, has principals for %v; by the specification %v", who, listed, byKeys, want[who])
			}
		}
		must(a.Visible(ctx, nil, func(v Visibility) error {
			if m := w.meetings[v.RecordingID]; v.Outside != w.isOutside(m.recorder) {
				t.Fatalf("%d by %s: outside %t", v.RecordingID, m.recorder, v.Outside)
			}
			row, err := a.Row(ctx, v.RecordingID)
			must(err)
			if gone, idle := w.isGone(v.RecordingID), w.isIdle(v.RecordingID); row.Gone != gone || row.NotWatchedSince.IsZero() == idle {
				t.Fatalf("%d: gone %t, not watched since %v; want %t, %t", v.RecordingID, row.Gone, row.NotWatchedSince, gone, idle)
			}
			return nil
		}))
	})
}

// now is the time after the steps so far.
func (w *drawnWorld) now() time.Time { return epoch0.Add(time.Duration(w.clock) * time.Minute) }

// drawnWorld is an organisation as the specification speaks of it (1.7, 4.1), kept
// without the archive's tables: the reads of each account, and who is who.
type drawnWorld struct {
	archive *Archive
	clock   int

	meetings     map[int64]*worldMeeting
	shown        map[worldShowing]worldSeen // walk 0: missed by a later one
	everPlain    map[string]bool            // recorders that a plain list ever showed
	hasPlainList bool                       // there was one
	accounts     map[string]AccountSetting  // as configured
	holder       map[string]int
	last         map[string]AccountSetting // as last configured
	member       map[string]string
	shares       map[int64][]string
}

// newWorld empties the archive: it is the same one for all draws.
func newWorld(t *rapid.T, a *Archive) *drawnWorld {
	for _, table := range append(meetingTables[:], "watches", "accounts", "account_people", "users", "team_members", "teams", "walks", "first_reads", "directory_lists") {
		if table == "parts" {
			if _, err := a.db.W.Exec(`DELETE FROM parts`); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if table == "changes" {
			continue
		}
		if _, err := a.db.W.Exec(`DELETE FROM ` + table); err != nil {
			t.Fatal(err)
		}
	}
	w := &drawnWorld{archive: a, meetings: map[int64]*worldMeeting{}, shown: map[worldShowing]worldSeen{}, everPlain: map[string]bool{},
		accounts: map[string]AccountSetting{}, holder: map[string]int{}, last: map[string]AccountSetting{}, member: map[string]string{}, shares: map[int64][]string{}}
	if err := a.PutUsers(t.Context(), "local", []api.User{userWithView("boss@a.example", api.StatusActive)}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *drawnWorld) takeStep(t *rapid.T, must func(error)) {
	ctx := t.Context()
	account := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "account")
	switch rapid.IntRange(0, 6).Draw(t, "step") {
	case 0, 1: // a list shows a meeting
		s, ok := w.accounts[account]
		if !ok {
			return
		}
		query := rapid.SampledFrom(s.Queries).Draw(t, "query")
		id := rapid.Int64Range(1, 6).Draw(t, "id")
		m := w.meetings[id]
		if m == nil {
			m = &worldMeeting{recorder: rapid.SampledFrom(worldPeople[:4]).Draw(t, "recorder")}
			w.meetings[id] = m
		}
		m.team = rapid.SampledFrom([]string{"Sales", "Support"}).Draw(t, "team")
		m.shared = rapid.SampledFrom([]string{"no_teams", "single_team", "multiple_teams", "all_teams", "", "odd"}).Draw(t, "shared")
		if m.shared == "" { // absent: the former value stays
			m.shared = "no_teams"
		}
		raw := fmt.Appendf(nil, `{"recording_id": %d, "shared_with": %q, "recorded_by": {"email": %q, "team": %q}}`, id, m.shared, m.recorder, m.team)
		o, err := FromMeeting(account, SourceList, w.now(), raw)
		must(err)
		o.Query = query
		o.Walk, err = w.archive.LatestWalk(ctx, account, query)
		must(err)
		_, err = w.archive.Apply(ctx, []Observation{o})
		must(err)
		w.shown[worldShowing{id, account, query}] = worldSeen{walk: w.clock, holder: w.holder[account]}
		if query == "" {
			w.hasPlainList, w.everPlain[m.recorder] = true, true
		}
	case 2: // a complete walk missed the meetings that it did not list just now
		s, ok := w.accounts[account]
		if !ok {
			return
		}
		query := rapid.SampledFrom(s.Queries).Draw(t, "query")
		walk, err := w.archive.BeginWalk(ctx, account, query)
		must(err)
		walk.Listed = 1000 // of which some may be missing
		_, err = w.archive.CompleteWalk(ctx, walk)
		must(err)
		w.endShowings(account, query)
	case 3, 4: // the configuration is another
		if rapid.Bool().Draw(t, "there") {
			s := AccountSetting{Name: account, Email: rapid.SampledFrom(worldPeople[:2]).Draw(t, "owner"), Credential: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"),
				Queries: rapid.SampledFrom([][]string{{""}, {"", "teams:x"}, {"", "recorded_by:y"}}).Draw(t, "queries")}
			if last, configured := w.last[account]; !configured || last.Email != s.Email || last.Credential != s.Credential {
				w.holder[account]++
			}
			w.accounts[account], w.last[account] = s, s
		} else {
			delete(w.accounts, account)
		}
		must(w.archive.SetAccounts(ctx, slices.Collect(maps.Values(w.accounts))))
	case 6:
		w.shareMeeting(t, must)
	case 5: // people change teams
		who := rapid.SampledFrom(worldPeople[:3]).Draw(t, "who")
		w.member[who] = rapid.SampledFrom([]string{"", "Sales", "Support"}).Draw(t, "to")
		for _, team := range []string{"Sales", "Support"} {
			var list []api.TeamMember
			for email, memberTeam := range w.member {
				if memberTeam == team {
					list = append(list, api.TeamMember{Email: email})
				}
			}
			must(w.archive.PutTeamMembers(ctx, "local", team, list))
		}
	}
}

// endShowings ends the showings of a list that a walk lacked, and with each all of its meeting
// that are not watched. Where a walk before lacked the meeting, these end too if they had
// last shown it before that, and if no others are left.
func (w *drawnWorld) endShowings(account, query string) {
	for k, seen := range maps.Clone(w.shown) {
		if k.account != account || k.query != query || seen.holder != w.holder[account] {
			continue
		}
		ends := true
		if seen.walk != 0 {
			w.shown[k] = worldSeen{holder: seen.holder, lacked: w.clock}
		} else {
			for other, at := range w.shown {
				if other.id == k.id && at.walk != 0 && (w.isWatched(other, at) || at.walk > seen.lacked) {
					ends = false
				}
			}
		}
		for other, at := range w.shown {
			if ends && other.id == k.id && at.walk != 0 && !w.isWatched(other, at) {
				w.shown[other] = worldSeen{holder: at.holder, lacked: w.clock}
			}
		}
	}
}

// shareMeeting shares a meeting with some people, in place of its shares before.
func (w *drawnWorld) shareMeeting(t *rapid.T, must func(error)) {
	id := rapid.Int64Range(1, 6).Draw(t, "id")
	if w.meetings[id] == nil {
		return
	}
	grantee := rapid.SliceOfN(rapid.SampledFrom([]string{"user:zoe@b.example", "user:cy@a.example", "team:Sales", "everyone"}), 0, 2).Draw(t, "with")
	w.shares[id] = grantee
	shares := map[string]ShareLevel{}
	for _, principal := range grantee {
		shares[principal] = ShareStandard
	}
	must(w.archive.SetShares(t.Context(), id, shares))
}

// sharedWith reports whether a meeting is shared with a person: by name, with the
// person's team, or with any team where the person may view all shared meetings.
func (w *drawnWorld) sharedWith(id int64, who string) bool {
	return slices.ContainsFunc(w.shares[id], func(grantee string) bool {
		switch boss := who == "boss@a.example"; grantee {
		case "everyone":
			return boss || w.member[who] != ""
		case "team:Sales":
			return boss || w.member[who] == "Sales"
		}
		return grantee == "user:"+who
	})
}

// isOutside is 4.1: no plain list ever showed the recorder; without a plain list,
// nobody knows the recorder.
func (w *drawnWorld) isOutside(recorder string) bool {
	if w.hasPlainList {
		return !w.everPlain[recorder]
	}
	owns := slices.ContainsFunc(slices.Collect(maps.Values(w.accounts)), func(s AccountSetting) bool { return s.Email == recorder })
	return recorder != "boss@a.example" && w.member[recorder] == "" && !owns
}

// isWatched reports whether a showing still counts: its query is read, by the person
// it was shown to.
func (w *drawnWorld) isWatched(k worldShowing, seen worldSeen) bool {
	s, ok := w.accounts[k.account]
	return ok && slices.Contains(s.Queries, k.query) && w.holder[k.account] == seen.holder
}

func (w *drawnWorld) isGone(id int64) bool {
	for k, seen := range w.shown {
		if k.id == id && seen.walk != 0 {
			return false
		}
	}
	return true
}

func (w *drawnWorld) isIdle(id int64) bool {
	anyVisible := false
	for k, seen := range w.shown {
		if k.id == id && seen.walk != 0 {
			if w.isWatched(k, seen) {
				return false
			}
			anyVisible = true
		}
	}
	return anyVisible
}

// visibleTo is 1.7.
func (w *drawnWorld) visibleTo(who string) (ids []int64) {
	for _, id := range slices.Sorted(maps.Keys(w.meetings)) {
		m := w.meetings[id]
		sees := m.recorder == who || w.sharedWith(id, who)
		for k, seen := range w.shown {
			sees = sees || k.id == id && seen.walk != 0 && w.isWatched(k, seen) && w.accounts[k.account].Email == who
		}
		if !w.isGone(id) && !w.isOutside(m.recorder) {
			boss := who == "boss@a.example"
			switch m.shared {
			case "all_teams":
				sees = sees || boss || w.member[who] != ""
			case "single_team":
				sees = sees || boss || w.member[who] == m.team
			case "multiple_teams":
				sees = sees || boss
			}
		}
		if sees {
			ids = append(ids, id)
		}
	}
	return ids
}
