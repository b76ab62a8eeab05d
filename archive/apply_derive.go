package archive

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

// derive replaces the rows that are derived from one part with those of raw, its
// current bytes; [applying.deriveMerged] does so for the part "meeting". Elements that say
// nothing have no rows, see [api.DropBlank] and readEntries. Rows never decide anything: all of them can be
// derived again from the parts.
func (t *applying) derive(id int64, part api.Part, raw json.RawMessage) error {
	switch part {
	case api.PartTranscript:
		return t.deriveTranscript(id, readEntries(raw))
	case api.PartSummary:
		return t.deriveSummary(id, raw)
	case api.PartActionItems:
		return t.deriveActionItems(id, raw)
	case api.PartHighlights:
		return t.deriveHighlights(id, raw)
	case api.PartCRM:
		return t.deriveCRM(id, raw)
	}
	return fmt.Errorf("derive rows: unknown part %q", part)
}

// decodeLenient decodes a part and leaves out members that do not fit, as package api does.
func decodeLenient[T any](raw json.RawMessage) T {
	var o api.Opt[T]
	_ = o.UnmarshalJSON(raw) // never fails
	var zero T
	return o.Or(zero)
}

// readList decodes the elements of a part that is a list, without those that say nothing.
func readList[T interface{ IsBlank() bool }](raw json.RawMessage) []T {
	return api.DropBlank(decodeLenient[[]T](raw))
}

// readEntries decodes a transcript. One without content has no entries.
func readEntries(raw json.RawMessage) []api.TranscriptEntry {
	if !api.HasContent(api.PartTranscript, raw) {
		return nil
	}
	return decodeLenient[[]api.TranscriptEntry](raw)
}

func (t *applying) deriveMeeting(id int64, raw json.RawMessage) error {
	m := decodeLenient[api.Meeting](raw)
	by := m.RecordedBy
	if _, err := t.Exec(endRefusals+` AND EXISTS (SELECT 1 FROM meetings WHERE recording_id = ?1 AND (shared_with, recorded_by_team) <> (?2, ?3))`,
		id, m.SharedWith, by.Team.Or("")); err != nil {
		return err
	}
	former, err := t.readTerms(id)
	if err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE meetings SET title = ?, meeting_title = ?, meeting_type = ?, url = ?, share_url = ?,
		meeting_url = ?, transcript_language = ?, shared_with = ?, calendar_invitees_domains_type = ?, created_at = ?,
		scheduled_start_time = ?, scheduled_end_time = ?, recording_start_time = ?, recording_end_time = ?,
		recorded_by_name = ?, recorded_by_email = ?, recorded_by_email_domain = ?, recorded_by_team = ?
		WHERE recording_id = ?`,
		m.Title, m.MeetingTitle.Or(""), m.MeetingType.Or(""), m.URL, m.ShareURL,
		m.MeetingURL.Or(""), m.TranscriptLanguage, m.SharedWith, m.CalendarInviteesDomainsType, timeColumn(m.CreatedAt),
		timeColumn(m.ScheduledStartTime), timeColumn(m.ScheduledEndTime), timeColumn(m.RecordingStartTime), timeColumn(m.RecordingEndTime),
		by.Name, strings.TrimSpace(by.Email), by.EmailDomain, by.Team.Or(""), id) // SQLite trims blanks alone, see api.FoldEmail
	if err == nil {
		err = t.noteFormer(id, former)
	}
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM invitees WHERE recording_id = ?`, id); err != nil {
		return err
	}
	for i, p := range m.CalendarInvitees {
		_, err := t.Exec(`INSERT INTO invitees (recording_id, position, name, email, email_domain, is_external,
			matched_speaker_display_name) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, i, p.Name.Or(""), p.Email.Or(""), p.EmailDomain.Or(""), p.IsExternal, p.MatchedSpeakerDisplayName.Or(""))
		if err != nil {
			return err
		}
	}
	return nil
}

// deriveMerged derives the rows of the part "meeting", and the values that come from
// its versions and not from the merged part.
func (t *applying) deriveMerged(id int64, f merge.Result) error {
	if err := t.deriveMeeting(id, f.Raw); err != nil {
		return err
	}
	return t.setSharingTeam(id, f.Team)
}

func (t *applying) setSharingTeam(id int64, team string) error {
	_, err := t.Exec(`UPDATE meetings SET sharing_team = ? WHERE recording_id = ?`, team, id)
	return err
}

func timeColumn(t api.Time) sql.NullInt64 { return sqlite.Millis(t.Time) }

func (t *applying) deriveSummary(id int64, raw json.RawMessage) error {
	s := decodeLenient[api.Summary](raw)
	_, err := t.Exec(`INSERT INTO summaries (recording_id, template_name, markdown_formatted) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET template_name = excluded.template_name, markdown_formatted = excluded.markdown_formatted`,
		id, s.TemplateName.Or(""), s.MarkdownFormatted.Or(""))
	if err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE meetings SET has_summary = ? WHERE recording_id = ?`, api.HasContent(api.PartSummary, raw), id)
	return err
}

func (t *applying) deriveActionItems(id int64, raw json.RawMessage) error {
	if _, err := t.Exec(`DELETE FROM action_items WHERE recording_id = ?`, id); err != nil {
		return err
	}
	items := readList[api.ActionItem](raw)
	for i, item := range items {
		who := item.Assignee.Or(api.Assignee{})
		_, err := t.Exec(`INSERT INTO action_items (recording_id, position, description, user_generated, completed,
			offset_seconds, recording_playback_url, assignee_name, assignee_email, assignee_team)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, i, item.Description, item.UserGenerated, item.Completed, offsetColumn(item.RecordingTimestamp),
			item.RecordingPlaybackURL, who.Name.Or(""), who.Email.Or(""), who.Team.Or(""))
		if err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE meetings SET has_action_items = ? WHERE recording_id = ?`, len(items) > 0, id)
	return err
}

// offsetColumn is an offset in seconds, null when it cannot be read.
func offsetColumn(s string) sql.NullFloat64 {
	d, err := api.ParseOffset(s)
	return sql.NullFloat64{Float64: float64(d) / float64(time.Second), Valid: err == nil}
}

func (t *applying) deriveHighlights(id int64, raw json.RawMessage) error {
	if _, err := t.Exec(`DELETE FROM highlights WHERE recording_id = ?`, id); err != nil {
		return err
	}
	highlights := readList[api.Highlight](raw)
	for i, h := range highlights {
		_, err := t.Exec(`INSERT INTO highlights (recording_id, position, type, summary, start_seconds, end_seconds, text)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, id, i, h.Type, h.Summary.Or(""), h.StartTime, h.EndTime, h.Text.Or(""))
		if err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE meetings SET has_highlights = ? WHERE recording_id = ?`, len(highlights) > 0, id)
	return err
}

func (t *applying) deriveCRM(id int64, raw json.RawMessage) error {
	if _, err := t.Exec(`DELETE FROM crm_matches WHERE recording_id = ?`, id); err != nil {
		return err
	}
	position := 0
	insert := func(kind, name, email string, amount sql.NullFloat64, url string) error {
		_, err := t.Exec(`INSERT INTO crm_matches (recording_id, position, kind, name, email, amount, record_url)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, id, position, kind, name, email, amount, url)
		position++
		return err
	}
	m := decodeLenient[api.CRMMatches](raw)
	for _, c := range m.Contacts.Or(nil) {
		if err := insert("contact", c.Name.Or(""), c.Email.Or(""), sql.NullFloat64{}, c.RecordURL.Or("")); err != nil {
			return err
		}
	}
	for _, c := range m.Companies.Or(nil) {
		if err := insert("company", c.Name.Or(""), "", sql.NullFloat64{}, c.RecordURL.Or("")); err != nil {
			return err
		}
	}
	for _, d := range m.Deals.Or(nil) {
		amount, ok := d.Amount.Get()
		if err := insert("deal", d.Name.Or(""), "", sql.NullFloat64{Float64: amount, Valid: ok}, d.RecordURL.Or("")); err != nil {
			return err
		}
	}
	if reason, ok := m.Error.Get(); ok && reason != "" {
		if err := insert("error", reason, "", sql.NullFloat64{}, ""); err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE meetings SET has_crm_matches = ? WHERE recording_id = ?`, api.HasContent(api.PartCRM, raw), id)
	return err
}
