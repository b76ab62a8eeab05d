package years

import (
	"context"
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
	rows, err := w.house.archive.List(context.Background(), archive.ListQuery{Viewer: archive.ViewerWith(p.email), IncludeGone: true})
	w.must(err, "list meetings")
	for _, r := range rows {
		if m := w.meetingOf(r); p.status == "deactivated" || m.recorder != p || r.RecordingID < firstForeignID {
			w.fail("%s, who is %s, sees meeting %d", p.name, p.status, m.id)
		}
	}
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
	return m.sharing == "single_team" && p.team != "" && p.team == m.recorder.team && w.isTeamNamed(m)
}

// isTeamNamed reports whether all lists with a meeting name its recorder's team: of different
// reads the narrowest counts, which names none.
func (w *world) isTeamNamed(m *meeting) bool {
	return !slices.ContainsFunc(w.config.accounts, func(a account) bool { return w.isListed(a, m) && w.traits.lacksTeam[a.email] })
}
