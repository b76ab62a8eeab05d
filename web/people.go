package web

import (
	"sort"
	"strings"

	"minutebook/api"
)

// person is an invitee; in a static site, a participant.
type person struct {
	Name, Email string
	External    bool
	Page        string // in a static site: the path of the person's page
}

// listInvited returns the invitees, internal ones first, each group by name.
func listInvited(m *api.Meeting) []person {
	var all []person
	for _, i := range m.CalendarInvitees {
		p := person{Name: i.Name.Or(""), Email: i.Email.Or(""), External: i.IsExternal}
		if p.Name == "" {
			p.Name = i.MatchedSpeakerDisplayName.Or("")
		}
		if p.Name == "" {
			p.Name = p.Email
		}
		if p.Name != "" {
			all = append(all, p)
		}
	}
	sort.SliceStable(all, func(a, b int) bool {
		if all[a].External != all[b].External {
			return !all[a].External
		}
		return strings.ToLower(all[a].Name) < strings.ToLower(all[b].Name)
	})
	return all
}
