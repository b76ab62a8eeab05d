package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/text"
	"minutebook/web/markdown"
)

// meetingPage is a meeting with all its parts.
type meetingPage struct {
	frame
	listed
	Heading    string
	Scheduled  string // when it was planned, if that differs
	Zone       string
	People     []person
	Invited    string // the heading of the people
	Recorder   api.Recorder
	Links      []link
	Player     player
	Clip       *clipLinks // of the span that is asked for
	Summary    template.HTML
	Template   string // the name of the summary's template
	Actions    []openItem
	Notes      []meetingNote
	Highlights []highlight
	CRM        *crm
	Lines      []line
	Speakers   []speaker
	Chapters   []chapter
	NoChapters bool // there are none, and the talk is long enough for some
	Questions  []question
	Timeline   *timeline
	Find       string        // the text in the page's own search box
	Speaker    string        // whose lines alone are shown, if not ""
	Matches    int           // lines that match Find or Query
	At, End    time.Duration // the moment asked for, and the end of the clip; -1 without
	Revisions  []revision    // of parts that changed
	Live       string
	Edition    string // a digest of the content, which differs after a change
}

// link leads out of the archive.
type link struct{ Label, Address string }

// meeting answers /meetings/{id}?t=OFFSET&end=OFFSET&q=QUERY, and with player the player alone.
func (s *server) meeting(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Has("player") {
		return s.showPlayer(w, r)
	}
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	live := s.logPosition(r, id)
	row, err := s.openPage(r, id)
	if err != nil {
		return err
	}
	m, err := s.Archive.NotesFor(ctx, viewerOf(ctx), id)
	if err != nil {
		return err
	}
	entries, err := s.Archive.Entries(ctx, id, 0, -1)
	if err != nil {
		return err
	}
	p := s.newMeetingPage(r, row, live)
	p.setHeader(m, s.Location)
	marks, err := s.findMatches(r, id, cmp.Or(p.Find, p.Query))
	if err != nil {
		return err
	}
	if err := p.setContent(m, entries, s.langs.Get(text.BaseCode(row.Language)), marks, atSecond); err != nil {
		return err
	}
	if p.Edition, err = editionOf(m, entries); err != nil {
		return err
	}
	if p.Notes, err = s.listNotes(r, id); err != nil {
		return err
	}
	if err := s.markTicks(r, p); err != nil {
		return err
	}
	p.showSpeaker(r.URL.Query().Get("speaker"))
	if p.Player, err = s.newPlayer(r, row, p.At, p.End); err != nil {
		return err
	}
	p.Clip = s.newClip(row, p.Player, p.At, p.End)
	if p.Revisions, err = s.listRevisions(r, id); err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "meeting", p)
}

// showPlayer answers an open page of a meeting that asks by itself: with the player and the edition.
// That is no reading of the meeting, and shows nothing of its content.
func (s *server) showPlayer(w http.ResponseWriter, r *http.Request) error {
	id, row, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	m, err := s.Archive.NotesFor(r.Context(), viewerOf(r.Context()), id)
	if err != nil {
		return err
	}
	entries, err := s.Archive.Entries(r.Context(), id, 0, -1)
	if err != nil {
		return err
	}
	p := &meetingPage{listed: s.newListed(row)}
	if p.Edition, err = editionOf(m, entries); err != nil {
		return err
	}
	p.At, p.End = parseSpan(r)
	if p.Player, err = s.newPlayer(r, row, p.At, p.End); err != nil {
		return err
	}
	return s.renderPart(w, http.StatusOK, "meeting", "live", p)
}

// editionOf returns a digest of a meeting's content.
func editionOf(m *api.Meeting, entries []archive.Entry) (string, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(m); err != nil {
		return "", fmt.Errorf("digest meeting %d: %w", m.RecordingID, err)
	}
	for _, e := range entries { // a hash never fails to write
		io.WriteString(sum, strconv.FormatInt(int64(e.Offset), 10)+"\x00"+e.Speaker+"\x00"+e.Text+"\x00")
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// newMeetingPage returns the page of a meeting with the request's place and query, without content.
func (s *server) newMeetingPage(r *http.Request, row *archive.Row, live string) *meetingPage {
	title := meetingTitle(row)
	p := &meetingPage{frame: s.newFrame(r, "meeting", title), listed: s.newListed(row), Live: live, Heading: title,
		Find: strings.TrimSpace(r.URL.Query().Get("find"))}
	p.At, p.End = parseSpan(r)
	p.Query = r.URL.Query().Get("q")
	return p
}

// setHeader sets the fields above the content: times, people, links.
func (p *meetingPage) setHeader(m *api.Meeting, zone *time.Location) {
	p.Zone = p.Start.Format("MST")
	planned := m.ScheduledStartTime.Time
	if !planned.IsZero() && planned.Sub(p.Start).Abs() > 5*time.Minute {
		p.Scheduled = planned.In(zone).Format("2 January 2006, 15:04")
	}
	p.People, p.Invited = listInvited(m), "Invited"
	p.Recorder = m.RecordedBy
	share := m.ShareURL
	if share == m.URL {
		share = ""
	}
	for _, l := range []link{{"At the service", m.URL}, {"Share link", share}, {"Conference", m.MeetingURL.Or("")}} {
		if webAddress(l.Address) != "" {
			p.Links = append(p.Links, l)
		}
	}
}

// setContent sets summary, action items, highlights and transcript, with the
// matches of marks. The language is that of the talk; moment returns the address of a second of the recording, for
// the links of the summary.
func (p *meetingPage) setContent(m *api.Meeting, entries []archive.Entry, language *text.Language, marks marker, moment func(int64) string) error {
	p.Length = talkLength(p.Length, entries)
	if sum, ok := m.DefaultSummary.Get(); ok {
		p.Template = sum.TemplateName.Or("")
		html, err := markdown.Render(sum.MarkdownFormatted.Or(""), moment, m.URL, m.ShareURL)
		if err != nil {
			return err
		}
		p.Summary = html
	}
	p.Actions = newActions(m, p.RecordingID)
	p.Highlights = newHighlights(m, p.RecordingID)
	p.CRM = newCRM(m)
	p.Lines, p.Speakers = newLines(entries, p.Length, p.At, marks.withoutFrequent(entries))
	p.setOutline(entries, language, moment)
	p.countMatches()
	p.Timeline = newTimeline(p.Lines, p.Speakers, p.Length)
	p.Timeline.addTicks(p, moment)
	return nil
}

// IsBeyond reports whether a moment lies after the end of the meeting, if that is known.
func (p *meetingPage) IsBeyond(at time.Duration) bool { return p.Length > 0 && at > p.Length }

func (p *meetingPage) countMatches() {
	p.Matches = 0
	for _, l := range p.Lines {
		if l.Snippet != nil {
			p.Matches++
		}
	}
}

// showSpeaker leaves the lines of a speaker alone, if it is one of this meeting.
func (p *meetingPage) showSpeaker(name string) {
	named := slices.IndexFunc(p.Speakers, func(s speaker) bool { return s.Name != "" && asSent(s.Name) == asSent(name) })
	if named < 0 {
		return
	}
	name = p.Speakers[named].Name
	p.Speaker = name
	p.Lines = slices.DeleteFunc(p.Lines, func(l line) bool { return l.Speaker != name })
	p.countMatches()
}

// meetingTitle returns the title of the recording, or else of the calendar event.
func meetingTitle(row *archive.Row) string {
	switch {
	case row.Title != "":
		return row.Title
	case row.MeetingTitle != "":
		return row.MeetingTitle
	}
	return "Untitled meeting"
}

// person is an invitee; in a static site, a participant.
type person struct {
	Name, Email string
	External    bool
	Page        string // in a static site: the path of the person's page
}

// listInvited returns the invitees, internal ones first, each group by name.
func listInvited(m *api.Meeting) []person {
	var all []person
	for _, i := range m.CalendarInvitees {
		p := person{Name: i.Name.Or(""), Email: i.Email.Or(""), External: i.IsExternal}
		if p.Name == "" {
			p.Name = i.MatchedSpeakerDisplayName.Or("")
		}
		if p.Name == "" {
			p.Name = p.Email
		}
		if p.Name != "" {
			all = append(all, p)
		}
	}
	sort.SliceStable(all, func(a, b int) bool {
		if all[a].External != all[b].External {
			return !all[a].External
		}
		return strings.ToLower(all[a].Name) < strings.ToLower(all[b].Name)
	})
	return all
}
