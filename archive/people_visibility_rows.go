package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Visibility has the values that decide who sees a meeting and which of the list's
// filters it matches (specification 1.7, 4.1).
type Visibility struct {
	RecordingID   int64
	Start         time.Time // the list's order: (Start, RecordingID)
	CreatedAt     time.Time // zero when unknown
	MeetingType   string
	RecorderEmail string // lower case
	RecorderTeam  string // as shown: for filters
	DomainsType   string // where the service says none of the two, as the invitees say
	SharedWith    string
	HasTranscript bool
	HasSummary    bool
	HasVideo      bool
	HasAudio      bool
	Gone          bool                  // no account is shown it any more
	Outside       bool                  // recorded by nobody of the organisation, as far as is known
	Domains       []string              // of the invitees, lower case, each once
	Principals    []string              // sorted
	Shares        map[string]ShareLevel // the explicit ones, and as limited those of forbiddenPasses
}

// Visible calls fn with the visibility of each of the meetings that the archive
// holds, in no order; ids nil means all of them. All is of one moment.
func (a *Archive) Visible(ctx context.Context, ids []int64, fn func(Visibility) error) error {
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		r := visibilityReader{ctx: ctx, tx: tx}
		if ids != nil {
			list, err := json.Marshal(ids)
			if err != nil {
				return err
			}
			r.where, r.args = ` WHERE recording_id IN (SELECT value FROM json_each(?))`, []any{string(list)}
		}
		return r.readAll(fn)
	})
	if err != nil {
		return fmt.Errorf("read visibility: %w", err)
	}
	return nil
}

// visibilityReader reads the tables that decide, one after the other.
type visibilityReader struct {
	ctx   context.Context
	tx    *sql.Tx
	where string
	args  []any
}

func (r visibilityReader) readAll(fn func(Visibility) error) error {
	domains, err := r.readPairs(`SELECT recording_id, lower(email_domain) FROM invitees`)
	if err != nil {
		return err
	}
	principals, err := r.readPairs(`SELECT DISTINCT recording_id, principal FROM (` + rightsQuery() + `)`)
	if err != nil {
		return err
	}
	shares, err := r.readShares()
	if err != nil {
		return err
	}
	return sqlite.Each(r.ctx, r.tx, func(rows *sql.Rows) error {
		var v Visibility
		var start int64
		var created sql.NullInt64
		err := rows.Scan(&v.RecordingID, &start, &created, &v.MeetingType, &v.RecorderEmail,
			&v.RecorderTeam, &v.DomainsType, &v.SharedWith, &v.HasTranscript, &v.HasSummary, &v.HasVideo, &v.HasAudio, &v.Gone, &v.Outside)
		if err != nil {
			return err
		}
		v.Start, v.CreatedAt = sqlite.Time(start), sqlite.NullTime(created)
		v.Domains, v.Shares = domains[v.RecordingID], shares[v.RecordingID]
		v.Principals = principals[v.RecordingID]
		slices.Sort(v.Principals)
		return fn(v)
	}, `SELECT recording_id, sort_at, created_at, meeting_type, recorder,
		recorded_by_team, `+domainsType+`, shared_with, has_transcript, has_summary, has_video, has_audio,
		gone_at IS NOT NULL, outside FROM meetings`+r.where, r.args...)
}

// domainsType is the domains type of a meeting, with a value in any case.
const domainsType = `CASE WHEN calendar_invitees_domains_type IN ('` + api.DomainsOnlyInternal + `', '` + api.DomainsExternal + `') THEN calendar_invitees_domains_type
	WHEN EXISTS (SELECT 1 FROM invitees i WHERE i.recording_id = meetings.recording_id AND i.is_external) THEN '` + api.DomainsExternal + `'
	ELSE '` + api.DomainsOnlyInternal + `' END`

// readPairs reads a text by recording, each once; it leaves out null and empty ones.
func (r visibilityReader) readPairs(query string) (map[int64][]string, error) {
	all := map[int64][]string{}
	err := sqlite.Each(r.ctx, r.tx, func(rows *sql.Rows) error {
		var id int64
		var text sql.NullString
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		if text.String != "" && !slices.Contains(all[id], text.String) {
			all[id] = append(all[id], text.String)
		}
		return nil
	}, query+r.where, r.args...)
	return all, err
}

// forbiddenPasses are the passes of the people to whom the service forbade the recording, as
// it does by a limited share (specification 4.5), of which no list tells.
var forbiddenPasses = `SELECT r.recording_id, ` + sightingPrincipal + `, '` + string(ShareLimited) + `' FROM sightings r JOIN downloads d USING (recording_id)
	WHERE d.forbidden_to <> '[]' AND ` + ownerTerm(`r.account`) + ` IN (SELECT ` + ownerTerm(`value`) + ` FROM json_each(d.forbidden_to))`

func (r visibilityReader) readShares() (map[int64]map[string]ShareLevel, error) {
	all := map[int64]map[string]ShareLevel{}
	err := sqlite.Each(r.ctx, r.tx, func(rows *sql.Rows) error {
		var id int64
		var principal string
		var level ShareLevel
		if err := rows.Scan(&id, &principal, &level); err != nil {
			return err
		}
		if all[id] == nil {
			all[id] = map[string]ShareLevel{}
		}
		all[id][principal] = level
		return nil
	}, `SELECT recording_id, principal, level FROM (SELECT recording_id, principal, level FROM shares UNION ALL `+forbiddenPasses+`)`+r.where, r.args...)
	return all, err
}
