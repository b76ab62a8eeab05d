package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/service/mirror"
)

// shareAllKey is the setting that lists with whom every loaded meeting is shared.
const shareAllKey = "share_all"

// ShareAll shares every loaded meeting individually with a person, at standard
// level, held-back and later ones when they enter. Somebody who is not in the
// directory yet becomes a user of it.
func (s *Service) ShareAll(ctx context.Context, email string) error {
	s.load.Lock()
	defer s.load.Unlock()
	emails, err := s.shareAll(ctx)
	if err != nil {
		return err
	}
	if email = api.FoldEmail(email); !slices.Contains(emails, email) {
		value, err := json.Marshal(append(emails, email))
		if err != nil {
			return err
		}
		if err := s.store.set(ctx, shareAllKey, value); err != nil {
			return err
		}
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	if s.mirror.Directory().Person(email) == nil {
		if _, err := s.CreateUser(ctx, NewUser{Email: email}); err != nil {
			return err
		}
	}
	var shares []archive.Share
	for _, id := range s.mirror.IDs() {
		shares = append(shares, archive.Share{RecordingID: id, Principal: archive.UserPrincipal(email), Level: archive.ShareStandard})
	}
	if err := s.archive.PutShares(ctx, shares...); err != nil {
		return err
	}
	return s.mirror.Refresh(ctx)
}

func (s *Service) shareAll(ctx context.Context) ([]string, error) {
	value, err := s.store.setting(ctx, shareAllKey)
	if err != nil || value == nil {
		return nil, err
	}
	var emails []string
	if err := json.Unmarshal(value, &emails); err != nil {
		return nil, fmt.Errorf("read with whom all is shared: %w", err)
	}
	return emails, nil
}

// shareLoaded puts the shares of meetings that have entered the archive: with
// whom everything is shared and, where the directory is derived, for
// multiple_teams the teams of the recorder and of the internal invitees.
func (s *Service) shareLoaded(ctx context.Context, derivedPerson bool, meetings ...loadedMeeting) error {
	emails, err := s.shareAll(ctx)
	if err != nil {
		return err
	}
	d := s.mirror.Directory()
	var shares []archive.Share
	for _, m := range meetings {
		if !s.mirror.Has(m.id) {
			continue // forgotten
		}
		for _, email := range emails {
			shares = append(shares, archive.Share{RecordingID: m.id, Principal: archive.UserPrincipal(email), Level: archive.ShareStandard})
		}
		if !derivedPerson || m.sharedWith != api.SharedMultipleTeams {
			continue
		}
		for _, team := range teamsOf(d, m) {
			shares = append(shares, archive.Share{RecordingID: m.id, Principal: archive.TeamPrincipal(team), Level: archive.ShareStandard})
		}
	}
	if len(shares) == 0 {
		return nil
	}
	if err := s.archive.PutShares(ctx, shares...); err != nil {
		return err
	}
	return s.mirror.Refresh(ctx)
}

// teamsOf are the teams of a meeting's recorder and internal invitees.
func teamsOf(d *mirror.Directory, m loadedMeeting) []string {
	var teams []string
	if m.team != "" {
		teams = append(teams, m.team)
	}
	for _, email := range m.invitees {
		if p := d.Person(email); p != nil {
			teams = append(teams, p.Teams...)
		}
	}
	slices.Sort(teams)
	return slices.Compact(teams)
}
