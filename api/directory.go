package api

import "encoding/json"

// MeetingType is a kind of meeting of the organisation (specification 2.3). Its name
// is a value of the meetings list's filter.
type MeetingType struct {
	Name      string `json:"name"`
	Status    string `json:"status"`
	CreatedAt Time   `json:"created_at"`
}

// Values of MeetingType.Status and User.Status.
const (
	StatusActive      = "active"
	StatusInactive    = "inactive"
	StatusDeactivated = "deactivated"
	StatusInvited     = "invited"
)

// Team is a team of the organisation (specification 2.4).
type Team struct {
	Name      string `json:"name"`
	CreatedAt Time   `json:"created_at"`
}

// TeamMember is a person in a team (specification 2.5).
type TeamMember struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt Time   `json:"created_at"`
}

// User is a person of the organisation (specification 2.6). Permissions are
// absent for invited users, whose CreatedAt is the date of the invitation.
type User struct {
	Name        Opt[string]      `json:"name,omitzero"`
	Email       string           `json:"email"`
	CreatedAt   Time             `json:"created_at"`
	Status      string           `json:"status"`
	Permissions Opt[Permissions] `json:"permissions,omitzero"`
}

// Permissions are a user's rights to change settings and to see meetings.
type Permissions struct {
	SettingsAccess Access `json:"settings_access"`
	ViewAccess     Access `json:"view_access"`
}

// Access is one permission: a level, and the teams it is for.
type Access struct {
	Level string   `json:"level"`
	Teams []string `json:"teams"`
}

// Levels of Permissions.SettingsAccess.
const (
	SettingsNone         = "none"
	SettingsTeamAdmin    = "team_admin"
	SettingsAccountAdmin = "account_admin"
)

// Levels of Permissions.ViewAccess. The specification names only the first.
const (
	ViewOwnMeetings   = "own_meetings"
	ViewTeam          = "team"
	ViewMultipleTeams = "multiple_teams"
	ViewAllTeams      = "all_teams"
)

// MarshalJSON writes no teams as an empty list.
func (a Access) MarshalJSON() ([]byte, error) {
	type alias Access
	if a.Teams == nil {
		a.Teams = []string{}
	}
	return json.Marshal(alias(a))
}
