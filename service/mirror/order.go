package mirror

import (
	"cmp"

	"minutebook/api"
)

// The orders of the lists of the directory. Each is total, so that a place in it
// can be found again.

// CompareTypes orders meeting types by name.
func CompareTypes(a, b api.MeetingType) int { return cmp.Compare(a.Name, b.Name) }

// CompareTeams orders teams by name.
func CompareTeams(a, b api.Team) int { return cmp.Compare(a.Name, b.Name) }

// CompareMembers orders members of teams by name, then by address.
func CompareMembers(a, b api.TeamMember) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Email, b.Email))
}

// CompareUsers orders users by status, active ones first (4.9), then by name and
// address.
func CompareUsers(a, b api.User) int {
	return cmp.Or(cmp.Compare(StatusRank(a.Status), StatusRank(b.Status)),
		cmp.Compare(a.Name.Or(""), b.Name.Or("")), cmp.Compare(a.Email, b.Email))
}

// StatusRank is the place of a status in the order of users: active, deactivated,
// invited.
func StatusRank(status string) int {
	switch status {
	case api.StatusActive:
		return 0
	case api.StatusDeactivated:
		return 1
	}
	return 2
}
