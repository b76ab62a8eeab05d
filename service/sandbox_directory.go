package service

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/service/mirror"
)

//go:embed directory.schema.json
var directorySchema []byte

// DirectorySchema is the JSON schema of a directory file.
func DirectorySchema() []byte { return slices.Clone(directorySchema) }

// directoryFile states an organisation exactly; see directory.schema.json.
type directoryFile struct {
	Users        []directoryUser      `json:"users"`
	Teams        []api.Team           `json:"teams"`
	MeetingTypes []api.MeetingType    `json:"meeting_types"`
	Shares       []directoryShare     `json:"shares"`
	Recordings   []directoryRecording `json:"recordings"`
}

type directoryUser struct {
	Name        *string          `json:"name"`
	Email       string           `json:"email"`
	Status      string           `json:"status"`
	CreatedAt   api.Time         `json:"created_at"`
	Teams       []string         `json:"teams"`
	Permissions *api.Permissions `json:"permissions"`
}

// directoryShare shares a meeting with one of User, Team and Everyone.
type directoryShare struct {
	RecordingID int64              `json:"recording_id"`
	User        string             `json:"user"`
	Team        string             `json:"team"`
	Everyone    bool               `json:"everyone"`
	Level       archive.ShareLevel `json:"level"`
}

type directoryRecording struct {
	RecordingID   int64  `json:"recording_id"`
	Media         string `json:"media"`
	FailureReason string `json:"failure_reason"`
}

// LoadDirectory replaces the sandbox's organisation by exactly the one of a file:
// users, teams, meeting types, memberships, the shares of every meeting, and the
// kinds of the recordings. Nothing is derived from meetings that are loaded later.
// An invalid file changes nothing.
func (s *Service) LoadDirectory(ctx context.Context, r io.Reader, name string) error {
	s.load.Lock()
	defer s.load.Unlock()
	var f directoryFile
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&f)
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = s.changeDirectory(ctx, func() error { return s.putDirectory(ctx, &f) })
	}
	if err != nil {
		return fmt.Errorf("load directory %s: %w", name, err)
	}
	return nil
}

func (f *directoryFile) check() error {
	teams := map[string]bool{}
	for _, t := range f.Teams {
		teams[t.Name] = true
	}
	for i := range f.Users {
		if err := f.Users[i].check(teams); err != nil {
			return err
		}
	}
	for _, t := range f.MeetingTypes {
		if t.Name == "" || t.Status != api.StatusActive && t.Status != api.StatusInactive {
			return fmt.Errorf("meeting type %q: its status is active or inactive", t.Name)
		}
	}
	for _, share := range f.Shares {
		if _, err := share.principal(); err != nil {
			return err
		}
	}
	for _, rec := range f.Recordings {
		if !slices.Contains([]string{"", "video", "audio", "none"}, rec.Media) {
			return fmt.Errorf("recording %d: media %q is not video, audio or none", rec.RecordingID, rec.Media)
		}
		if !slices.Contains([]string{"", api.GenerationFailed, api.GenerationTimeout}, rec.FailureReason) {
			return fmt.Errorf("recording %d: failure_reason %q is not generation_failed or generation_timeout", rec.RecordingID, rec.FailureReason)
		}
	}
	return nil
}

func (u *directoryUser) check(teams map[string]bool) error {
	if u.Email == "" {
		return fmt.Errorf("a user has no email")
	}
	if u.Status == "" {
		u.Status = api.StatusActive
	}
	if !slices.Contains([]string{api.StatusActive, api.StatusDeactivated, api.StatusInvited}, u.Status) {
		return fmt.Errorf("user %s: status %q is not active, deactivated or invited", u.Email, u.Status)
	}
	for _, team := range u.Teams {
		if !teams[team] {
			return fmt.Errorf("user %s: there is no team %q in teams", u.Email, team)
		}
	}
	if u.Permissions == nil {
		return nil
	}
	if u.Status == api.StatusInvited {
		return fmt.Errorf("user %s: an invited user has no permissions", u.Email)
	}
	settings, view := u.Permissions.SettingsAccess.Level, u.Permissions.ViewAccess.Level
	if !slices.Contains([]string{api.SettingsNone, api.SettingsTeamAdmin, api.SettingsAccountAdmin}, settings) {
		return fmt.Errorf("user %s: settings_access level %q is not none, team_admin or account_admin", u.Email, settings)
	}
	if !slices.Contains([]string{api.ViewOwnMeetings, api.ViewTeam, api.ViewMultipleTeams, api.ViewAllTeams}, view) {
		return fmt.Errorf("user %s: view_access level %q is not own_meetings, team, multiple_teams or all_teams", u.Email, view)
	}
	return nil
}

// user is the user as the interface lists it.
func (u *directoryUser) user() api.User {
	user := mirror.BasicUser(api.FoldEmail(u.Email), "", u.CreatedAt)
	user.Status = u.Status
	if u.Name != nil {
		user.Name = api.Some(*u.Name)
	}
	switch {
	case u.Permissions != nil:
		user.Permissions = api.Some(*u.Permissions)
	case u.Status == api.StatusInvited:
		user.Permissions = api.Opt[api.Permissions]{}
	}
	return user
}

func (d directoryShare) principal() (string, error) {
	if !slices.Contains([]archive.ShareLevel{"", archive.ShareLimited, archive.ShareStandard, archive.ShareAdmin}, d.Level) {
		return "", fmt.Errorf("share of %d: level %q is not limited, standard or admin", d.RecordingID, d.Level)
	}
	switch {
	case d.User != "" && d.Team == "" && !d.Everyone:
		return archive.UserPrincipal(d.User), nil
	case d.Team != "" && d.User == "" && !d.Everyone:
		return archive.TeamPrincipal(d.Team), nil
	case d.Everyone && d.User == "" && d.Team == "":
		return archive.PrincipalEveryone, nil
	}
	return "", fmt.Errorf("share of %d: name one of user, team and everyone", d.RecordingID)
}

// putDirectory writes the organisation of the file to the archive.
func (s *Service) putDirectory(ctx context.Context, f *directoryFile) error {
	var users []api.User
	members := map[string][]api.TeamMember{}
	before, err := s.archive.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, teams := range before {
		for _, team := range teams {
			members[team] = nil
		}
	}
	for i := range f.Users {
		u := f.Users[i].user()
		users = append(users, u)
		for _, team := range f.Users[i].Teams {
			members[team] = append(members[team], api.TeamMember{Name: u.Name.Or(""), Email: u.Email, CreatedAt: u.CreatedAt})
		}
	}
	if err := s.archive.PutUsers(ctx, archive.LocalAccount, users); err != nil {
		return err
	}
	if err := s.archive.PutTeams(ctx, archive.LocalAccount, f.Teams); err != nil {
		return err
	}
	if err := s.archive.PutMeetingTypes(ctx, archive.LocalAccount, f.MeetingTypes); err != nil {
		return err
	}
	for team, list := range members {
		if err := s.archive.PutTeamMembers(ctx, archive.LocalAccount, team, list); err != nil {
			return err
		}
	}
	if err := s.putRecordings(ctx, f.Recordings); err != nil {
		return err
	}
	return s.putShares(ctx, f.Shares)
}

// putShares makes the file's shares all there are, and notes that the directory
// is stated and not derived.
func (s *Service) putShares(ctx context.Context, stated []directoryShare) error {
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	shares := map[int64]map[string]archive.ShareLevel{}
	for _, id := range s.mirror.IDs() {
		shares[id] = map[string]archive.ShareLevel{}
	}
	for _, d := range stated {
		principal, err := d.principal()
		if err != nil {
			return err
		}
		if shares[d.RecordingID] == nil {
			shares[d.RecordingID] = map[string]archive.ShareLevel{}
		}
		if d.Level == "" {
			d.Level = archive.ShareStandard
		}
		shares[d.RecordingID][principal] = d.Level
	}
	for id, teams := range shares {
		if err := s.archive.SetShares(ctx, id, teams); err != nil {
			return err
		}
	}
	if err := s.store.set(ctx, "directory", []byte("stated")); err != nil {
		return err
	}
	return s.mirror.Refresh(ctx)
}

func (s *Service) putRecordings(ctx context.Context, recordings []directoryRecording) error {
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM recordings`); err != nil {
			return err
		}
		for _, r := range recordings {
			if r.Media == "" {
				r.Media = "video"
			}
			_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO recordings (recording_id, media, failure_reason) VALUES (?, ?, ?)`,
				r.RecordingID, r.Media, r.FailureReason)
			if err != nil {
				return fmt.Errorf("store recordings: %w", err)
			}
		}
		return nil
	})
}
