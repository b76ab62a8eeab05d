package years

import (
	"context"
	"math/rand/v2"
	"slices"

	"minutebook/archive"
)

// isAdminRead reports whether the account of another admin is read: only admins read the list of
// users, which says who is active.
func (w *world) isAdminRead(p *person) bool {
	return slices.ContainsFunc(w.org.people, func(other *person) bool { return other != p && other.admin && w.isRead(other) })
}

// areUsersRead reports whether the archive knows from another admin's account whether a person is
// active. A list that was refused is asked for again after a week, so that it is known after nine
// days where the directory is read every night.
func (w *world) areUsersRead(p *person) bool {
	return w.config.schedule.Directory == nightly().Directory && w.isAdminRead(p)
}

// checkOutcast looks for meetings that somebody sees here who is not active at the service: nobody
// who is deactivated sees any, and who is only invited those imported ones that the person recorded.
func (w *world) checkOutcast(p *person) {
	if !w.areUsersRead(p) {
		return
	}
	rows, err := w.house.archive.List(context.Background(), archive.ListQuery{Viewer: p.viewer(), IncludeGone: true})
	w.must(err, "list meetings")
	for _, r := range rows {
		m := w.meetingOf(r)
		if w.hasAddressOf(p, m.recorder) && !w.isWatched(m) {
			continue // docs/service.md: the archive has the address alone
		}
		if p.status == "deactivated" || !p.hasImported(m) || !isForeign(r.RecordingID) {
			w.fail("%s, who is %s, sees meeting %d", p.name, p.status, m.id)
		}
	}
}

// hasAddressOf reports whether a person has an address that another one had before.
func (w *world) hasAddressOf(p, other *person) bool {
	return slices.ContainsFunc(p.addresses(), func(address string) bool { return slices.Contains(other.given, address) })
}

// isKnownToSee reports whether the archive has to show a meeting to an active person whose own
// account need not be read: another account shows it, and says with whom it is shared, and lists
// of users or of the members of teams name the person.
func (w *world) isKnownToSee(p *person, m *meeting) bool {
	areUsersRead := w.areUsersRead(p)
	isActive := areUsersRead || p.team != "" && !p.wasDeactivated && !p.wasInvited
	if !isActive || m.recorder.isOutside || !w.isWatched(m) || w.isRefusedAnywhere(m) {
		return false
	}
	switch {
	case m.recorder == p, m.sharing == "all_teams":
		return true
	case m.sharing == "no_teams":
		return false
	case p.admin && areUsersRead:
		return true
	}
	if areUsersRead && w.mayView(p, m) && w.isTeamNamed(m) {
		return true
	}
	return m.sharing == "single_team" && p.team != "" && p.team == m.recorder.team && w.isTeamNamed(m)
}

// isTeamNamed reports whether all lists with a meeting name its recorder's team: of different
// reads the narrowest counts, which names none.
func (w *world) isTeamNamed(m *meeting) bool {
	return !slices.ContainsFunc(w.config.accounts, func(a account) bool { return w.isListed(a, m) && w.traits.lacksTeam[a.email] })
}

// changeViews has a person see the shared meetings of one more team or of two, or no more.
func (w *world) changeViews(g *rand.Rand, p *person) {
	p.views = [][]string{nil, w.org.teams[:1], w.org.teams[1:], w.org.teams}[g.IntN(4)]
	p.views, p.viewed = slices.Clone(p.views), p.viewed || len(p.views) > 0
	w.journal.note("%s may view the teams %v", p.name, p.views)
	w.putPeople()
}

// renameView gives a team that a person may view another name; of one that is dissolved nobody
// views any meetings.
func (p *person) renameView(former, name string, dissolved bool) {
	at := slices.Index(p.views, former)
	switch {
	case at >= 0 && dissolved:
		p.views = slices.Delete(p.views, at, at+1)
	case at >= 0:
		p.views[at] = name
	}
}

// mayView reports whether a person sees a meeting of the recorder's team since the person may view
// that team.
func (w *world) mayView(p *person, m *meeting) bool {
	return m.sharing == "single_team" && m.recorder.team != "" && slices.Contains(p.views, m.recorder.team)
}

// isViewUnknown reports whether the archive cannot know which teams a person may view: lists of
// users alone say so.
func (w *world) isViewUnknown(p *person) bool { return p.viewed && !w.areUsersRead(p) }
