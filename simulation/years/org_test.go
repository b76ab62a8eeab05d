package years

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// person is a user of the service.
type person struct {
	name, email string
	first       string // the name at the beginning
	team        string // "": of none
	status      string // active, deactivated, invited
	admin       bool   // account admin, and views all teams
	key         string // the API key in use
	isOutside   bool   // of another organisation, and no user here

	wasDeactivated bool
	readdressed    time.Time // when the address last changed
	rekeyed        time.Time // when the account's revoked key was last replaced
	wasInvited     bool      // before the person was active
	wasAdmin       bool
	views          []string        // other teams whose shared meetings the person sees
	viewed         bool            // there were some once
	crms           map[string]bool // that ever were the person's
	address        string          // the present one, where email is one that the person keeps
	former, given  []string        // addresses before, and those of them that somebody else was given
	joined         time.Time
}

func (p *person) isActive() bool { return p.status == "active" }

// since is when the person became a user.
func (p *person) since() string {
	if p.joined.IsZero() {
		return "2024-01-01T00:00:00Z"
	}
	return stamp(p.joined)
}

// teamJSON is the name of the person's team; null without one.
func (p *person) teamJSON() string {
	if p.team == "" {
		return "null"
	}
	return quote(p.team)
}

// meeting is a recording at the service.
type meeting struct {
	id       int64
	created  time.Time
	length   time.Duration
	edges    edges
	address  string // the recorder's at that time, in the content; "": the present one
	title    string
	kind     string // the meeting type
	recorder *person
	speaker  string   // the recorder's name at that time
	sharing  string   // shared_with: no_teams, single_team (the recorder's), all_teams
	users    []string // individual shares, by address
	words    int      // version of the transcript
	notes    int      // of the summary
	items    int      // of the action items
	media    string   // video, audio, none
	ready    time.Time
	late     map[string]time.Duration // how long after ready its parts are, by their names
	isMute   bool                     // it never has a summary
	points   int                      // version of the highlights
	language string                   // "": en
	guests   []string                 // names of those who were invited from outside
	teams    []string                 // with which it is shared, where sharing is multiple_teams
	levels   map[string]string        // of individual shares, by address; "": standard
	sharedAt time.Time                // when its sharing last changed
	deleted  bool

	wasDeleted bool
	viewers    map[string]bool // who ever could see it, by address
	scopes     map[string]bool // of webhooks that it ever was one of: "ADDRESS SCOPE"
	isMistyped bool            // a list once showed it with a member of another type
}

// token is in every text of a meeting, and nowhere else.
func token(id int64) string { return fmt.Sprintf("zq%06d", id%1_000_000) }

// tokens finds those of all meetings.
var tokens = regexp.MustCompile(`zq[0-9]{6}`)

// org is everything at the service.
type org struct {
	people   []*person
	founders int // so many people are there from the beginning
	teams    []string
	meetings []*meeting
}

func (o *org) meeting(id int64) *meeting {
	i := slices.IndexFunc(o.meetings, func(m *meeting) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return o.meetings[i]
}

func (o *org) person(email string) *person {
	i := slices.IndexFunc(o.people, func(p *person) bool { return p.email == email })
	if i < 0 {
		return nil
	}
	return o.people[i]
}

// sees is section 1.7 of the specification: people see the meetings that they recorded
// or that are shared with them or their team; admins with broader view permission see
// all shared meetings too, and others those of the teams that they may view.
func (o *org) sees(p *person, m *meeting) bool {
	if m.deleted || !p.isActive() {
		return false
	}
	if m.recorder == p || slices.Contains(m.users, p.email) {
		return true
	}
	if m.recorder.isOutside {
		return false // shared_with names teams of the other organisation
	}
	switch m.sharing {
	case "all_teams":
		return true
	case "single_team":
		return p.admin || m.recorder.team != "" && (p.team == m.recorder.team || slices.Contains(p.views, m.recorder.team))
	case "multiple_teams":
		return p.admin || slices.Contains(m.teams, p.team) || slices.ContainsFunc(m.teams, func(t string) bool { return slices.Contains(p.views, t) })
	}
	return false
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// quote writes a JSON string.
func quote(s string) string {
	raw, _ := json.Marshal(s) // of a string: it cannot fail
	return string(raw)
}

func (m *meeting) transcript() string {
	var lines []string
	for i := range 3 + m.words%3 {
		lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":%s,"matched_calendar_invitee_email":%s},"text":"%s spoken %d of version %d","timestamp":%q}`,
			quote(m.speaker), quote(m.spokenAs()), token(m.id), i, m.words, m.edges.offset(i)))
	}
	return "[" + strings.Join(lines, ",") + "]"
}

func (m *meeting) summary() string {
	return fmt.Sprintf(`{"template_name":"General","markdown_formatted":"# %s summary version %d"}`, token(m.id), m.notes)
}

func (m *meeting) actionItems() string {
	return fmt.Sprintf(`[{"description":"%[1]s task %[2]d","user_generated":false,"completed":%[3]v,"recording_timestamp":%[8]q,"recording_playback_url":"https://service.test/calls/%[4]d?timestamp=%[9]s","assignee":{"name":%[5]s,"email":%[6]s,"team":%[7]s}}]`,
		token(m.id), m.items, m.items%2 == 1, m.id, quote(m.speaker), quote(m.recorder.email), m.recorder.teamJSON(), m.edges.task, m.edges.link)
}

// spokenAs is the address of the recorder in the content.
func (m *meeting) spokenAs() string { return cmp.Or(m.address, m.recorder.email) }

// content returns the members of a meeting that are read by themselves, by their names.
func (m *meeting) content() map[string]string {
	return map[string]string{"transcript": m.transcript(), "default_summary": m.summary(), "action_items": m.actionItems(), "highlights": m.highlights()}
}

func (m *meeting) highlights() string {
	number := ""
	if m.points > 0 {
		number = fmt.Sprintf(" %d", m.points)
	}
	return fmt.Sprintf(`[{"type":"Objection","summary":"%s point%s","start_time":%s,"end_time":%s}]`, token(m.id), number, m.edges.begin, m.edges.end)
}

func domainOf(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	return domain
}

// spoken is the language of the transcript.
func (m *meeting) spoken() string { return cmp.Or(m.language, "en") }

// invitees are the members of calendar_invitees.
func (m *meeting) invitees() string {
	list := []string{fmt.Sprintf(`{"name":%s,"email":%s,"email_domain":%q,"is_external":%v,"matched_speaker_display_name":%s}`,
		quote(m.speaker), quote(m.spokenAs()), domainOf(m.recorder.at()), m.recorder.isOutside, quote(m.speaker))}
	for _, g := range m.guests {
		list = append(list, fmt.Sprintf(`{"name":%s,"email":%s,"email_domain":"outside.example","is_external":true,"matched_speaker_display_name":null}`,
			quote("Guest "+g), quote(guestAddress(g))))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// object is the Meeting object with all content.
func (m *meeting) object() []byte {
	start, created := stampFully(m.start()), stampFully(m.created)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"title":%s,"meeting_title":%s,"meeting_type":%s,"recording_id":%d,"url":"https://service.test/calls/9%d","share_url":"https://service.test/share/%s",`,
		quote(m.title), quote(m.title), quote(m.kind), m.id, m.id, token(m.id))
	fmt.Fprintf(&b, `"created_at":%q,"scheduled_start_time":%q,"scheduled_end_time":%q,"recording_start_time":%q,"recording_end_time":%q,`,
		created, start, created, start, created)
	domains := "only_internal"
	if len(m.guests) > 0 || m.recorder.isOutside {
		domains = "one_or_more_external"
	}
	fmt.Fprintf(&b, `"calendar_invitees_domains_type":%q,"shared_with":%q,"transcript_language":%q,"meeting_url":null,`, domains, m.sharing, m.spoken())
	fmt.Fprintf(&b, `"calendar_invitees":%s,`, m.invitees())
	fmt.Fprintf(&b, `"recorded_by":{"name":%s,"email":%s,"email_domain":%q,"team":%s},`,
		quote(m.recorder.name), quote(m.recorder.email), domainOf(m.recorder.at()), m.recorder.teamJSON())
	fmt.Fprintf(&b, `"transcript":%s,"default_summary":%s,"action_items":%s,"highlights":%s,"crm_matches":null}`,
		m.transcript(), m.summary(), m.actionItems(), m.highlights())
	return b.Bytes()
}

// directory is the organisation as the sandbox reads it.
func (o *org) directory() []byte {
	type object = map[string]any
	users, teams, shares, recordings := []object{}, []object{}, []object{}, []object{}
	for _, t := range o.teams {
		teams = append(teams, object{"name": t, "created_at": "2024-01-01T00:00:00Z"})
	}
	for _, p := range o.people {
		u := object{"name": p.name, "email": p.email, "status": p.status, "created_at": p.since(), "teams": []string{}}
		if p.team != "" {
			u["teams"] = []string{p.team}
		}
		if p.admin && p.status != "invited" {
			u["permissions"] = object{"settings_access": object{"level": "account_admin", "teams": []string{}},
				"view_access": object{"level": "all_teams", "teams": []string{}}}
		} else if len(p.views) > 0 && p.status != "invited" {
			u["permissions"] = object{"settings_access": object{"level": "none", "teams": []string{}},
				"view_access": object{"level": []string{1: "team", 2: "multiple_teams"}[len(p.views)], "teams": p.views}}
		}
		users = append(users, u)
	}
	for _, m := range o.meetings {
		recordings = append(recordings, object{"recording_id": m.id, "media": m.media})
		if m.deleted {
			continue
		}
		for _, email := range m.users {
			shares = append(shares, object{"recording_id": m.id, "user": email, "level": m.levelOf(email)})
		}
		if m.sharing == "multiple_teams" && !m.recorder.isOutside { // else they are teams of others with the same names
			for _, t := range m.teams {
				shares = append(shares, object{"recording_id": m.id, "team": t, "level": "standard"})
			}
		}
	}
	raw, err := json.Marshal(object{"users": users, "teams": teams, "shares": shares, "recordings": recordings,
		"meeting_types": []object{{"name": "Weekly", "status": "active"}, {"name": "Review", "status": "inactive"}}})
	if err != nil {
		panic(err)
	}
	return raw
}
