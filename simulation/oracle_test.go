package simulation

import (
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
)

// The oracle: who may see which part, from 1.7, 2.2, 4.1 and 4.5 of the specification and
// the documented answers to its gaps. It asks no room.

// isKnown reports whether the archive holds a meeting.
func (m *meeting) isKnown() bool { return !m.forgotten && (len(m.seen) > 0 || m.delivered) }

// isGone reports whether every list that ever showed the meeting has been walked without it, or
// is not read any more and ended with one that was.
func (m *meeting) isGone() bool {
	for _, s := range m.seen {
		if s.lacked.IsZero() {
			return false
		}
	}
	return len(m.seen) > 0
}

// outside is 4.1: a plain list leaves out meetings recorded outside, so a person whom none
// showed is. Without a plain list, whoever nobody knows.
func (w *world) outside(m *meeting) bool {
	if !w.hasPlainList {
		listed := false // by an account that is there: the lists of another ended with it
		for name := range w.accounts {
			if l := w.listings[name]; l != nil {
				_, named := l.users[m.read.recorder]
				listed = listed || named
			}
		}
		return m.read.recorder == "" || !listed && len(w.teamsOf(m.read.recorder)) == 0 && len(w.owns(m.read.recorder)) == 0
	}
	return !slices.ContainsFunc(w.sorted(), func(x *meeting) bool {
		listed := false
		for p := range x.seen {
			listed = listed || p.query == ""
		}
		return listed && x.isKnown() && (x == m || x.read.recorder == m.read.recorder && m.read.recorder != "")
	})
}

// ways lists by which ways a person sees a meeting: "own", "shown", "shared",
// or the level of an explicit share.
func (w *world) ways(email string, m *meeting) (ways []string) {
	u, listed := w.userOf(email)
	if email == "" || !m.isKnown() || listed && u.status == api.StatusDeactivated {
		return nil
	}
	if m.read.recorder == email {
		ways = append(ways, "own")
	}
	if level, ok := m.shares["user:"+email]; ok {
		ways = append(ways, string(level))
	}
	if listed && u.status != api.StatusActive {
		return ways
	}
	for _, name := range accounts {
		if w.isShown(email, m, name) {
			ways = append(ways, "shown")
		}
	}
	member := w.teamsOf(email)
	inside := listed || len(member) > 0
	views := append(slices.Clone(u.teams), member...)
	all := u.level == "all_teams"
	for grantee, level := range m.shares {
		team, teamwise := strings.CutPrefix(grantee, "team:")
		if teamwise && (all || slices.Contains(views, team)) || grantee == "everyone" && inside {
			ways = append(ways, string(level))
		}
	}
	if m.isGone() || w.outside(m) {
		return ways
	}
	switch m.read.shared {
	case "all_teams":
		inside = inside || all
	case "single_team":
		inside = all || m.read.team != "" && slices.Contains(views, m.read.team)
	case "multiple_teams":
		inside = all
	default:
		inside = false
	}
	if inside {
		ways = append(ways, "shared")
	}
	return ways
}

// isShown reports whether a list of an account that is read shows a meeting to an
// active person whose account it is.
func (w *world) isShown(email string, m *meeting, name string) bool {
	a, configured := w.accounts[name]
	if u, listed := w.userOf(email); !configured || a.email != email || listed && u.status != api.StatusActive {
		return false
	}
	for p, s := range m.seen {
		if p.account == name && w.isRead(p, s) && s.lacked.IsZero() {
			return true
		}
	}
	return false
}

func (w *world) sees(email string, m *meeting) bool { return len(w.ways(email, m)) > 0 }

// mayDownload is 4.5: some way is more than a limited share.
func (w *world) mayDownload(email string, m *meeting) bool {
	return slices.ContainsFunc(w.ways(email, m), func(way string) bool { return way != string(archive.ShareLimited) })
}

// isActive reports whether a person's key works: a user who is active or, where no
// list of users names them, somebody in a team or with an account. unsure is
// somebody of whom nothing tells.
func (w *world) isActive(email string) (works, unsure bool) {
	if u, listed := w.userOf(email); listed {
		return u.status == api.StatusActive, false
	}
	internal := len(w.teamsOf(email)) > 0 || len(w.owns(email)) > 0
	return internal, !internal
}

// crmOf lists whose CRM matches of a meeting a person sees (2.2): of the own
// accounts, then of those of people in the same teams.
func (w *world) crmOf(email string, m *meeting) (own, team []owned) {
	if u, listed := w.userOf(email); listed && u.status != api.StatusActive || !w.sees(email, m) {
		return nil, nil
	}
	teams := w.teamsOf(email)
	for name, a := range w.accounts {
		o := owned{name, w.holders[name]}
		switch {
		case !m.crm[o] || a.email == "":
		case a.email == email:
			own = append(own, o)
		case slices.ContainsFunc(w.teamsOf(a.email), func(t string) bool { return slices.Contains(teams, t) }):
			team = append(team, o)
		}
	}
	return own, team
}

// visible lists the meetings that a person sees.
func (w *world) visible(email string) (ids []int64) {
	for _, m := range w.sorted() {
		if w.sees(email, m) {
			ids = append(ids, m.id)
		}
	}
	return ids
}
