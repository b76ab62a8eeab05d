package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Row is a meeting without its content, as lists show it. Strings and times
// that the service left out are zero.
type Row struct {
	RecordingID                               int64
	Title, MeetingTitle, MeetingType          string
	URL, ShareURL, MeetingURL                 string
	Language, SharedWith, DomainsType         string
	CreatedAt                                 time.Time
	ScheduledStart, ScheduledEnd              time.Time
	Start, End                                time.Time // of the recording
	RecordedBy                                api.Recorder
	HasTranscript, HasSummary, HasActionItems bool
	HasHighlights, HasCRM, HasVideo, HasAudio bool
	Gone                                      bool // no account sees it any more
	GoneAt                                    time.Time
	// NotWatchedSince is the time at which the last account or list query that showed
	// the meeting left the configuration or passed to another holder. Since then its
	// removal upstream would not be noticed. It is zero while a query shows the
	// meeting, and for a meeting that no list ever showed.
	NotWatchedSince time.Time
	Entries, Words  int // of the transcript
	sortAt          time.Time
}

// Key is the row's place in List's order.
func (r *Row) Key() Key { return Key{Start: r.sortAt, RecordingID: r.RecordingID} }

// Length returns the length of the recording, 0 where it is not known.
func (r *Row) Length() time.Duration {
	if r.Start.IsZero() || r.End.IsZero() {
		return 0
	}
	return max(r.End.Sub(r.Start), 0)
}

const rowColumns = `m.recording_id, m.title, m.meeting_title, m.meeting_type, m.url, m.share_url, m.meeting_url,
	m.transcript_language, m.shared_with, m.calendar_invitees_domains_type, m.created_at, m.scheduled_start_time,
	m.scheduled_end_time, m.recording_start_time, m.recording_end_time, m.recorded_by_name, m.recorded_by_email,
	m.recorded_by_email_domain, m.recorded_by_team, m.has_transcript, m.has_summary, m.has_action_items,
	m.has_highlights, m.has_crm_matches, m.has_video, m.has_audio, m.gone_at, m.entries, m.words, m.sort_at,
	` + notWatchedSince

// notWatchedSince is when the last of those ended by which meetings m are shown,
// null where one has not, or none is left.
const notWatchedSince = `(SELECT iif(count(*) = count(ended), max(ended), NULL) FROM (
	SELECT ` + watchEnded + ` AS ended FROM ` + watchedSightings + ` WHERE s.recording_id = m.recording_id AND s.gone_at IS NULL))`

// scanRow reads rowColumns.
func scanRow(scan func(...any) error) (*Row, error) {
	r := &Row{}
	var created, schedStart, schedEnd, start, end, gone, unwatched sql.NullInt64
	var team string
	var sortAt int64
	err := scan(&r.RecordingID, &r.Title, &r.MeetingTitle, &r.MeetingType, &r.URL, &r.ShareURL, &r.MeetingURL,
		&r.Language, &r.SharedWith, &r.DomainsType, &created, &schedStart, &schedEnd, &start, &end,
		&r.RecordedBy.Name, &r.RecordedBy.Email, &r.RecordedBy.EmailDomain, &team,
		&r.HasTranscript, &r.HasSummary, &r.HasActionItems, &r.HasHighlights, &r.HasCRM, &r.HasVideo, &r.HasAudio,
		&gone, &r.Entries, &r.Words, &sortAt, &unwatched)
	if err != nil {
		return nil, err
	}
	if team != "" {
		r.RecordedBy.Team = api.Some(team)
	}
	r.CreatedAt, r.ScheduledStart, r.ScheduledEnd = sqlite.NullTime(created), sqlite.NullTime(schedStart), sqlite.NullTime(schedEnd)
	r.Start, r.End, r.GoneAt, r.Gone = sqlite.NullTime(start), sqlite.NullTime(end), sqlite.NullTime(gone), gone.Valid
	r.sortAt, r.NotWatchedSince = sqlite.Time(sortAt), sqlite.NullTime(unwatched)
	return r, nil
}

// Row returns a meeting's row. It fails with ErrNotFound or ErrForgotten.
func (a *Archive) Row(ctx context.Context, id int64) (*Row, error) {
	row := a.db.R.QueryRowContext(ctx, `SELECT `+rowColumns+` FROM meetings m WHERE m.recording_id = ?`, id)
	return scanFound(row, id, func() error { return a.explainAbsence(ctx, id) })
}

// scanFound reads the row of a meeting. It fails with the error of explainAbsence when there is
// none.
func scanFound(row *sql.Row, id int64, explainAbsence func() error) (*Row, error) {
	r, err := scanRow(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = explainAbsence()
	}
	if err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	return r, nil
}

// explainAbsence returns [ErrForgotten] for a forgotten meeting, and else [ErrNotFound].
func (a *Archive) explainAbsence(ctx context.Context, id int64) error {
	var ignored int
	err := a.db.R.QueryRowContext(ctx, `SELECT 1 FROM tombstones WHERE recording_id = ?`, id).Scan(&ignored)
	switch {
	case err == nil:
		return ErrForgotten
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	}
	return err
}

// isForgotten reports whether a meeting was erased by Forget.
func (a *Archive) isForgotten(ctx context.Context, id int64) (bool, error) {
	var forgotten bool
	err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM tombstones WHERE recording_id = ?)`, id).Scan(&forgotten)
	return forgotten, err
}

// Forgotten returns those of the meetings that were erased with Forget.
func (a *Archive) Forgotten(ctx context.Context, ids []int64) (map[int64]bool, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	forgotten, err := sqlite.Map[int64, bool](ctx, a.db.R, `SELECT recording_id, true FROM tombstones
		WHERE recording_id IN (SELECT value FROM json_each(?))`, string(list))
	if err != nil {
		return nil, fmt.Errorf("read which meetings were forgotten: %w", err)
	}
	return forgotten, nil
}

// checkKnown fails with ErrNotFound or ErrForgotten when there is no such meeting.
func checkKnown(ctx context.Context, tx *sql.Tx, id int64) error {
	var exists, forgotten bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM meetings WHERE recording_id = ?1),
		EXISTS (SELECT 1 FROM tombstones WHERE recording_id = ?1)`, id).Scan(&exists, &forgotten)
	switch {
	case err != nil:
		return err
	case forgotten:
		return ErrForgotten
	case !exists:
		return ErrNotFound
	}
	return nil
}

// Rows returns the rows of the meetings that are there, by recording_id.
func (a *Archive) Rows(ctx context.Context, ids []int64) (map[int64]*Row, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read meetings: %w", err)
	}
	found := make(map[int64]*Row, len(ids))
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		found[r.RecordingID] = r
		return nil
	}, `SELECT `+rowColumns+` FROM meetings m
		WHERE m.recording_id IN (SELECT value FROM json_each(?))`, string(list))
	if err != nil {
		return nil, fmt.Errorf("read meetings: %w", err)
	}
	return found, nil
}

// Size is how many meetings there are.
func (a *Archive) Size(ctx context.Context) (meetings int, err error) {
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM meetings`).Scan(&meetings); err != nil {
		return 0, fmt.Errorf("count meetings: %w", err)
	}
	return meetings, nil
}

// Counts is how much there is.
type Counts struct {
	Meetings, Gone, NotWatched                 int
	WithTranscript, WithSummary, WithRecording int
	WithActionItems, WithHighlights            int
	Entries, Words                             int64
	Forgotten                                  int
}

// Counts counts the meetings, gone ones included. In a large archive this takes most of a
// second, so that the counts are remembered until the next commit.
func (a *Archive) Counts(ctx context.Context) (Counts, error) {
	return a.counts.Get("", func() (Counts, error) { return a.CountsFor(ctx, Viewer{All: true}) })
}

// CountsFor counts the meetings that a viewer sees, gone ones included. Only a viewer
// with All learns how many were forgotten.
func (a *Archive) CountsFor(ctx context.Context, v Viewer) (Counts, error) {
	var c Counts
	term, args, err := a.visibleTerm(ctx, v)
	if err != nil {
		return Counts{}, fmt.Errorf("count meetings: %w", err)
	}
	if term == "" {
		term = "1"
	}
	err = a.db.R.QueryRowContext(ctx, `SELECT count(*), count(gone_at), coalesce(sum(has_transcript), 0),
		coalesce(sum(has_summary), 0), coalesce(sum(has_video OR has_audio), 0), coalesce(sum(has_action_items), 0),
		coalesce(sum(has_highlights), 0), coalesce(sum(entries), 0), coalesce(sum(words), 0),
		iif(?, (SELECT count(*) FROM tombstones), 0),
		CASE WHEN EXISTS (SELECT 1 FROM watches WHERE ended_at IS NOT NULL) OR EXISTS (SELECT 1 FROM accounts WHERE holder > 1)
			THEN (SELECT count(`+notWatchedSince+`) FROM meetings m WHERE `+term+`) ELSE 0 END FROM meetings m WHERE `+term,
		slices.Concat([]any{v.All}, args, args)...).
		Scan(&c.Meetings, &c.Gone, &c.WithTranscript, &c.WithSummary, &c.WithRecording, &c.WithActionItems,
			&c.WithHighlights, &c.Entries, &c.Words, &c.Forgotten, &c.NotWatched)
	if err != nil {
		return Counts{}, fmt.Errorf("count meetings: %w", err)
	}
	return c, nil
}
