package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/segment"
)

// isMissing reports whether an error means that the archive no longer has a meeting, or
// cannot read it until a repair, which logs the meeting as changed.
func isMissing(err error) bool {
	return errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) || errors.Is(err, archive.ErrUnreadable)
}

// source is everything about a meeting that the indexes are made of, as read
// from the archive.
type source struct {
	row        *archive.Row
	meeting    *api.Meeting
	entries    []archive.Entry
	principals []string
	crm        []archive.CRMView
}

// readSource reads a meeting. When there is nothing to index it fails with an error for which
// isMissing holds.
func readSource(ctx context.Context, a *archive.Archive, id int64) (*source, error) {
	row, err := a.Row(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &source{row: row}
	if s.meeting, err = a.Notes(ctx, id); err != nil {
		return nil, fmt.Errorf("read meeting %d for the index: %w", id, err)
	}
	if s.entries, err = a.Entries(ctx, id, 0, -1); err != nil {
		return nil, fmt.Errorf("read transcript %d for the index: %w", id, err)
	}
	principals, err := a.Principals(ctx, []int64{id})
	if err != nil {
		return nil, fmt.Errorf("read who sees %d for the index: %w", id, err)
	}
	s.principals = principals[id]
	crm, err := a.CRMViews(ctx, []int64{id})
	if err != nil {
		return nil, fmt.Errorf("read crm matches of %d for the index: %w", id, err)
	}
	s.crm = crm[id]
	return s, nil
}

// start is the meeting's place in time, as the archive's lists order it.
func (s *source) start() time.Time { return s.row.Key().Start }

func (s *source) length() time.Duration {
	if d := s.row.Length(); d > 0 {
		return d
	}
	if n := len(s.entries); n > 0 {
		return s.entries[n-1].Offset
	}
	return 0
}

func (s *source) title() string {
	other := s.meeting.MeetingTitle.Or("")
	if other == "" || other == s.meeting.Title {
		return s.meeting.Title
	}
	return s.meeting.Title + "\n" + other
}

func (s *source) summary() string {
	sum, _ := s.meeting.DefaultSummary.Get()
	return sum.MarkdownFormatted.Or("")
}

// crmMatchLines returns CRM matches as lines of text.
func crmMatchLines(crm api.CRMMatches) []string {
	var lines []string
	for _, c := range crm.Contacts.Or(nil) {
		lines = append(lines, strings.TrimSpace(c.Name.Or("")+" "+c.Email.Or("")))
	}
	for _, c := range crm.Companies.Or(nil) {
		lines = append(lines, c.Name.Or(""))
	}
	for _, d := range crm.Deals.Or(nil) {
		lines = append(lines, d.Name.Or(""))
	}
	return lines
}

// partText returns the text of a field other than the transcript.
func (s *source) partText(field string) string {
	switch field {
	case segment.FieldTitle:
		return s.title()
	case segment.FieldSummary:
		return s.summary()
	case segment.FieldHighlights:
		return s.highlightsText()
	case segment.FieldActions:
		return s.actionsText()
	case segment.FieldCRM:
		return strings.Join(crmLines(s.crm, anyPrincipal), "\n")
	}
	return ""
}

func highlightText(h api.Highlight) string {
	parts := []string{h.Type, h.Summary.Or(""), h.Text.Or("")}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

func actionText(a api.ActionItem) string {
	who, _ := a.Assignee.Get()
	return strings.TrimSpace(a.Description + "\n" + who.Name.Or(""))
}

// participant is one way a person takes part in a meeting.
type participant struct{ name, email string }

// speakers lists who speaks, each once.
func (s *source) speakers() []participant {
	var out []participant
	seen := map[participant]bool{}
	for _, e := range s.entries {
		p := participant{e.Speaker, e.Email}
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// people lists who spoke, was invited or recorded.
func (s *source) people() []participant {
	out := s.speakers()
	for _, i := range s.meeting.CalendarInvitees {
		out = append(out, participant{i.Name.Or(""), i.Email.Or("")})
		if n := i.MatchedSpeakerDisplayName.Or(""); n != "" && n != i.Name.Or("") {
			out = append(out, participant{n, i.Email.Or("")})
		}
	}
	return append(out, s.recorder())
}

// domains lists the domains of the people, each once: also of those without an address.
func (s *source) domains() (all []string) {
	add := func(domain string) {
		if domain != "" && !slices.Contains(all, domain) {
			all = append(all, domain)
		}
	}
	for _, p := range s.people() {
		add(domainOf(strings.ToLower(p.email)))
	}
	for _, i := range s.meeting.CalendarInvitees {
		add(strings.ToLower(i.EmailDomain.Or("")))
	}
	return all
}

func (s *source) recorder() participant {
	return participant{s.meeting.RecordedBy.Name, s.meeting.RecordedBy.Email}
}
