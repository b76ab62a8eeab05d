package importer

import (
	"errors"
	"fmt"
	"net/mail"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/captions"
	"minutebook/internal/plaintoml"
)

// Metadata is a TOML file beside a transcript. Everything in it may be missing.
type Metadata struct {
	// Key is the meeting's name in the program that it comes from, such as
	// "zoom/81234". A transcript with the same key is the same meeting, whatever it
	// says. Without it, the same words are the same meeting.
	Key        string            `toml:"key"`
	Title      string            `toml:"title"`
	Start      any               `toml:"start"` // a TOML date and time, with or without offset, or a string with one
	End        any               `toml:"end"`
	Language   string            `toml:"language"`
	URL        string            `toml:"url"`
	RecordedBy string            `toml:"recorded_by"` // "Name <address>"
	People     []string          `toml:"people"`      // "Name <address>"
	VisibleTo  []string          `toml:"visible_to"`  // addresses, "team:Name", "everyone"
	Speakers   map[string]string `toml:"speakers"`    // by the transcript's name, the real one: "Name <address>"
	Summary    string            `toml:"summary"`     // Markdown
	Transcript string            `toml:"transcript"`  // file, where the folder has several
	Recording  string            `toml:"recording"`
	// ActionItems are tasks that were agreed on.
	ActionItems []actionItem `toml:"action_items"`

	addresses map[string]string // by the names of the people, in lower case; nil: not made
}

// actionItem is a task of a metadata file.
type actionItem struct {
	Text     string `toml:"text"`
	Assignee string `toml:"assignee"` // "Name <address>"
	At       string `toml:"at"`       // HH:MM:SS
	Done     bool   `toml:"done"`
}

// readMetadata reads a metadata file. It fails with the line of the mistake.
func readMetadata(path string) (m Metadata, err error) {
	raw, err := readWhole(path, maxMetadata)
	if err != nil {
		return m, err
	}
	text, err := captions.DecodeText(raw)
	if err != nil {
		return m, wrongText(path, err)
	}
	err = plaintoml.Decode([]byte(text), &m)
	var mistakes plaintoml.Mistakes
	if errors.As(err, &mistakes) {
		return m, Wrong{File: path, Line: mistakes[0].Line, Err: mistakes[0]}
	}
	return m, err
}

// checkFiles fails for metadata that name other files than those of the same name, unless
// they are a folder's.
func (m *Metadata) checkFiles(f foreign) error {
	if isFolderMetadata(f.metadata) {
		return nil
	}
	for _, s := range []struct{ setting, name, file string }{{"transcript", m.Transcript, f.transcript}, {"recording", m.Recording, f.recording}} {
		if s.name != "" && (s.file == "" || !isSameName(s.name, filepath.Base(s.file))) {
			return Wrong{File: f.metadata, Err: fmt.Errorf("%s = %q counts only in a meeting.toml; give the file the name of this one, or put the meeting into a folder of its own", s.setting, s.name)}
		}
	}
	return nil
}

// person is somebody by name, address or both.
type person struct{ name, email string }

// parsePerson reads "Name <address>", an address or a name.
func parsePerson(text string) (person, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "@") {
		return person{name: text}, nil
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return person{}, fmt.Errorf("%q is neither a name, nor an address, nor \"Name <address>\"", text)
	}
	p := person{name: parsed.Name, email: parsed.Address}
	if p.name == "" {
		p.name, _, _ = strings.Cut(p.email, "@")
	}
	return p, nil
}

func (p person) domain() string {
	_, domain, _ := strings.Cut(p.email, "@")
	return strings.ToLower(domain)
}

// ParseVisibleTo returns the shares that let the named parties see a meeting. It fails for
// a party that is no address, "team:Name" or "everyone".
func ParseVisibleTo(parties []string) (map[string]archive.ShareLevel, error) {
	shares := map[string]archive.ShareLevel{}
	for _, party := range parties {
		principal := strings.TrimSpace(party)
		if team, ok := strings.CutPrefix(principal, "team:"); ok && strings.TrimSpace(team) != "" {
			principal = archive.TeamPrincipal(strings.TrimSpace(team))
		} else if principal != archive.PrincipalEveryone {
			p, err := parsePerson(principal)
			if err != nil || p.email == "" {
				return nil, fmt.Errorf("%q is neither an address, nor \"team:Name\", nor \"everyone\"", party)
			}
			principal = archive.UserPrincipal(p.email)
		}
		shares[principal] = archive.ShareStandard
	}
	return shares, nil
}

// parseStamp reads a time of a metadata file; one without an offset is of the zone.
func parseStamp(value any, zone *time.Location) (time.Time, error) {
	switch v := value.(type) {
	case nil:
		return time.Time{}, nil
	case time.Time:
		return v, nil
	case toml.LocalDateTime:
		return v.AsTime(zone), nil
	case toml.LocalDate:
		return v.AsTime(zone), nil
	case string:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
			if at, err := time.ParseInLocation(layout, strings.TrimSpace(v), zone); err == nil {
				return at, nil
			}
		}
	}
	if text, ok := value.(string); ok {
		return time.Time{}, fmt.Errorf("%q is no time such as 2026-03-01T10:00:00Z", text)
	}
	return time.Time{}, errors.New("takes a date and time such as 2026-03-01T10:00:00Z")
}

// fill puts the metadata's values into a meeting.
func (m *Metadata) fill(meeting *api.Meeting, zone *time.Location) error {
	start, err := parseStamp(m.Start, zone)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	end, err := parseStamp(m.End, zone)
	if err != nil {
		return fmt.Errorf("end: %w", err)
	}
	if !start.IsZero() && !end.IsZero() && end.Before(start) {
		return fmt.Errorf("end: %s is before start", end.Format(time.RFC3339))
	}
	meeting.RecordingStartTime, meeting.RecordingEndTime = stampOf(start), stampOf(end)
	meeting.Title, meeting.TranscriptLanguage, meeting.URL = strings.TrimSpace(m.Title), m.Language, m.URL
	if m.Summary != "" {
		meeting.DefaultSummary = api.Some(api.Summary{MarkdownFormatted: api.Some(m.Summary)})
	}
	if err := m.fillPeople(meeting); err != nil {
		return err
	}
	return m.fillActionItems(meeting)
}

func stampOf(t time.Time) api.Time {
	if t.IsZero() {
		return api.Time{}
	}
	return api.TimeOf(t.Truncate(time.Second))
}

func (m *Metadata) fillPeople(meeting *api.Meeting) error {
	recorder, err := parsePerson(m.RecordedBy)
	if err != nil {
		return fmt.Errorf("recorded_by: %w", err)
	}
	meeting.RecordedBy = api.Recorder{Name: recorder.name, Email: recorder.email, EmailDomain: recorder.domain()}
	meeting.CalendarInviteesDomainsType = api.DomainsOnlyInternal
	for i, text := range m.People {
		p, err := parsePerson(text)
		if err == nil && p == (person{}) {
			err = fmt.Errorf("the text at place %d is empty", i+1)
		}
		if err != nil {
			return fmt.Errorf("people: %w", err)
		}
		invitee := api.Invitee{Name: optional(p.name), Email: optional(p.email), EmailDomain: optional(p.domain())}
		if invitee.IsExternal = p.email != "" && recorder.email != "" && p.domain() != recorder.domain(); invitee.IsExternal {
			meeting.CalendarInviteesDomainsType = api.DomainsExternal
		}
		meeting.CalendarInvitees = append(meeting.CalendarInvitees, invitee)
	}
	return nil
}

// optional is a text of a meeting, null when empty.
func optional(text string) api.Opt[string] {
	if text == "" {
		return api.NullOf[string]()
	}
	return api.Some(text)
}

func (m *Metadata) fillActionItems(meeting *api.Meeting) error {
	var items []api.ActionItem
	for i, item := range m.ActionItems {
		if strings.TrimSpace(item.Text) == "" {
			return fmt.Errorf("action_items[%d].text: is missing", i)
		}
		p, err := parsePerson(item.Assignee)
		if err != nil {
			return fmt.Errorf("action_items[%d].assignee: %w", i, err)
		}
		made := api.ActionItem{Description: item.Text, UserGenerated: true, Completed: item.Done}
		if item.At != "" { // else nobody knows when it was agreed
			at, err := api.ParseOffset(item.At)
			if err != nil {
				return fmt.Errorf("action_items[%d].at: %q is no time such as 00:10:00", i, item.At)
			}
			made.RecordingTimestamp = api.FormatOffset(at)
		}
		if p != (person{}) {
			made.Assignee = api.Some(api.Assignee{Name: optional(p.name), Email: optional(p.email)})
		}
		items = append(items, made)
	}
	if items != nil {
		meeting.ActionItems = api.Some(items)
	}
	return nil
}

// speaker returns the person who has a name in the transcript: by the list of speakers,
// else one of the people with that name.
func (m *Metadata) speaker(name string) (person, error) {
	if real, ok := m.Speakers[name]; ok {
		p, err := parsePerson(real)
		if err != nil {
			return p, fmt.Errorf("speakers: %w", err)
		}
		return m.withAddress(p), nil
	}
	return m.withAddress(person{name: name}), nil
}

// withAddress adds the address that the people of the meeting have by a name.
func (m *Metadata) withAddress(p person) person {
	if p.email != "" || p.name == "" {
		return p
	}
	if m.addresses == nil {
		m.addresses = map[string]string{}
		for _, text := range slices.Concat([]string{m.RecordedBy}, m.People) {
			if known, err := parsePerson(text); err == nil && known.email != "" {
				m.addresses[strings.ToLower(known.name)] = known.email
			}
		}
	}
	p.email = m.addresses[strings.ToLower(p.name)]
	return p
}
