package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// VisibleRow returns a meeting's row. It fails with ErrNotFound alike for a meeting
// that the viewer does not see, that was forgotten and that is not there; only to a
// viewer with All a forgotten one is ErrForgotten.
func (a *Archive) VisibleRow(ctx context.Context, v Viewer, id int64) (*Row, error) {
	if v.All {
		return a.Row(ctx, id)
	}
	term, args, err := a.visibleTerm(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	row := a.db.R.QueryRowContext(ctx, `SELECT `+rowColumns+` FROM meetings m WHERE m.recording_id = ? AND `+term, append([]any{id}, args...)...)
	return scanFound(row, id, func() error { return ErrNotFound })
}

// SeenOf returns those of some meetings that a viewer sees.
func (a *Archive) SeenOf(ctx context.Context, v Viewer, ids []int64) (map[int64]bool, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	term, args, err := a.visibleTerm(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("find the visible meetings: %w", err)
	}
	if term == "" {
		term = "1"
	}
	found, err := sqlite.Column[int64](ctx, a.db.R, `SELECT m.recording_id FROM meetings m
		WHERE m.recording_id IN (SELECT value FROM json_each(?)) AND `+term, append([]any{string(list)}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("find the visible meetings: %w", err)
	}
	seen := make(map[int64]bool, len(found))
	for _, id := range found {
		seen[id] = true
	}
	return seen, nil
}

// MayPlay reports whether a viewer sees a meeting, and whether the viewer may play and
// download its recording (specification 4.5): the recorder, and whoever sees the meeting
// by more than a limited share.
func (a *Archive) MayPlay(ctx context.Context, v Viewer, id int64) (visible, allowed bool, err error) {
	if v.All {
		if _, err = a.Row(ctx, id); errors.Is(err, ErrNotFound) || errors.Is(err, ErrForgotten) {
			return false, false, nil
		}
		return err == nil, err == nil, err
	}
	mine, err := a.ViewerPrincipals(ctx, v)
	if err != nil {
		return false, false, err
	}
	err = a.Visible(ctx, []int64{id}, func(m Visibility) error {
		for _, p := range m.Principals {
			if slices.Contains(mine, p) {
				visible = true
				allowed = allowed || m.allowsPlaying(p)
			}
		}
		return nil
	})
	return visible, allowed, err
}

// allowsPlaying reports whether a principal that sees the meeting may play it.
func (m *Visibility) allowsPlaying(principal string) bool {
	return principal == UserPrincipal(m.RecorderEmail) || IsUnlimited(principal, m.IsWithTeams(), m.Shares)
}

// IsWithTeams reports whether the meeting's shared_with shares it with teams of the
// organisation.
func (m *Visibility) IsWithTeams() bool { return m.NamesTeams() && !m.Gone && !m.Outside }

// NamesTeams reports whether the meeting's shared_with names teams, whosever they are.
func (m *Visibility) NamesTeams() bool {
	return slices.Contains([]string{api.SharedSingleTeam, api.SharedMultipleTeams, api.SharedAllTeams}, m.SharedWith)
}

// IsUnlimited reports whether a principal sees a meeting with these shares by more than a
// limited one (specification 4.5). An explicit share says its level itself. Whoever views
// all that is shared has the greatest level of any share with a team or with everyone.
// withTeams is [Visibility.IsWithTeams].
func IsUnlimited(principal string, withTeams bool, shares map[string]ShareLevel) bool {
	if principal != PrincipalShared || withTeams {
		return shares[principal] != ShareLimited
	}
	for grantee, level := range shares {
		if !strings.HasPrefix(grantee, "user:") && level != ShareLimited {
			return true
		}
	}
	return false
}

// keepOwnCRM replaces the CRM matches among the parts of a meeting by those that the
// viewer sees (specification 2.2). Without any the part is absent. A meeting of which no
// account was ever shown matches, as most are, costs no query.
func (a *Archive) keepOwnCRM(ctx context.Context, v Viewer, id int64, parts map[api.Part]json.RawMessage) error {
	current := string(parts[api.PartCRM])
	if v.All || current == "" {
		return nil
	}
	delete(parts, api.PartCRM)
	if current == "null" {
		return nil
	}
	own, err := a.CRMFor(ctx, v, []int64{id})
	if err != nil {
		return err
	}
	if matches, ok := own[id]; ok {
		parts[api.PartCRM] = matches
	}
	return nil
}

// EachName calls add for every name and address by which somebody recorded a meeting, was
// invited to one, spoke in one or has an action item, whoever sees it, as they are written.
func (a *Archive) EachName(ctx context.Context, add func(name string)) error {
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if err == nil {
			add(name)
		}
		return err
	}, `SELECT recorded_by_name FROM meetings UNION SELECT recorded_by_email FROM meetings
		UNION SELECT name FROM invitees UNION SELECT email FROM invitees UNION SELECT name FROM speakers UNION SELECT email FROM speakers
		UNION SELECT assignee_name FROM action_items UNION SELECT assignee_email FROM action_items`)
	if err != nil {
		return fmt.Errorf("look for names: %w", err)
	}
	return nil
}
