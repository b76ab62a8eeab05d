package service

import (
	"cmp"

	"minutebook/api"
)

// The orders of the lists of the directory. Each is total, so that a place in
// it can be found again.

func typesOrder(a, b api.MeetingType) int { return cmp.Compare(a.Name, b.Name) }

func teamsOrder(a, b api.Team) int { return cmp.Compare(a.Name, b.Name) }

func membersOrder(a, b api.TeamMember) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Email, b.Email))
}

// usersOrder is active, then deactivated, then invited (4.9), each by name.
func usersOrder(a, b api.User) int {
	return cmp.Or(cmp.Compare(statusRank(a.Status), statusRank(b.Status)),
		cmp.Compare(a.Name.Or(""), b.Name.Or("")), cmp.Compare(a.Email, b.Email))
}

func statusRank(status string) int {
	switch status {
	case api.StatusActive:
		return 0
	case api.StatusDeactivated:
		return 1
	}
	return 2
}
