package web

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/web/access"
)

// action is an action item and the moment at which it was agreed.
type action struct {
	Text, Who, Email, Team string
	Done, ByHand           bool
	At                     time.Duration // -1 when it is not known
	Address                string
}

// highlight is a marked range of a recording.
type highlight struct {
	Kind, Summary, Text string
	From, To            time.Duration
	Address             string
}

// crm holds the records of a connected CRM that match a meeting.
type crm struct {
	Records []crmRecord
	Error   string
}

type crmRecord struct{ Kind, Name, Detail, Address string }

func newActions(m *api.Meeting, id int64) []openItem {
	var out []openItem
	for _, a := range m.ActionItems.Or(nil) {
		who := a.Assignee.Or(api.Assignee{})
		v := action{Text: a.Description, Who: cmp.Or(who.Name.Or(""), who.Email.Or("")), Email: who.Email.Or(""),
			Team: who.Team.Or(""), Done: a.Completed, ByHand: a.UserGenerated, At: -1}
		if at, err := api.ParseOffset(a.RecordingTimestamp); err == nil {
			v.At = at
		}
		v.Address = meetingAddress(id, v.At, -1, "")
		out = append(out, openItem{action: v, RecordingID: id, Back: meetingAddress(id, -1, -1, "")})
	}
	return out
}

func newHighlights(m *api.Meeting, id int64) []highlight {
	var out []highlight
	for _, h := range m.Highlights.Or(nil) {
		v := highlight{Kind: h.Type, Summary: h.Summary.Or(""), Text: h.Text.Or(""),
			From: api.ToOffset(h.StartTime), To: api.ToOffset(h.EndTime)}
		if v.Summary == "" {
			v.Summary, v.Text = v.Text, ""
		}
		v.Address = meetingAddress(id, v.From, -1, "")
		out = append(out, v)
	}
	return out
}

// newCRM returns nil for a meeting without CRM records.
func newCRM(m *api.Meeting) *crm {
	matches, ok := m.CRMMatches.Get()
	if !ok {
		return nil
	}
	c := &crm{Error: matches.Error.Or("")}
	add := func(kind, name, detail, address string) {
		if name != "" || detail != "" {
			c.Records = append(c.Records, crmRecord{kind, name, detail, webAddress(address)})
		}
	}
	for _, v := range matches.Companies.Or(nil) {
		add("Company", v.Name.Or(""), "", v.RecordURL.Or(""))
	}
	for _, v := range matches.Contacts.Or(nil) {
		add("Contact", cmp.Or(v.Name.Or(""), v.Email.Or("")), v.Email.Or(""), v.RecordURL.Or(""))
	}
	for _, v := range matches.Deals.Or(nil) {
		detail := ""
		if amount, ok := v.Amount.Get(); ok {
			detail = formatAmount(amount)
		}
		add("Deal", v.Name.Or(""), detail, v.RecordURL.Or(""))
	}
	if len(c.Records) == 0 && c.Error == "" {
		return nil
	}
	return c
}

// formatAmount writes an amount without currency, with its cents if it has any.
func formatAmount(amount float64) string {
	units, cents, _ := strings.Cut(strconv.FormatFloat(amount, 'f', 2, 64), ".")
	n, err := strconv.ParseInt(units, 10, 64)
	if err != nil {
		return units
	}
	if cents == "00" {
		return formatNumber(n)
	}
	return formatNumber(n) + "." + cents
}

// meetingFile is a form of a meeting to take away, as an export writes it too.
type meetingFile struct {
	contentType string
	render      func(io.Writer, *export.Meeting) error
}

// meetingFiles are the files of a meeting: its transcript as captions for any
// player, the whole of it as plain text, and as Markdown.
var meetingFiles = map[string]meetingFile{
	"transcript.vtt": {"text/vtt; charset=utf-8", export.WriteVTT},
	"captions.vtt":   {"text/vtt; charset=utf-8", export.WriteVTT}, // the same for the player
	"clip.vtt":       {"text/vtt; charset=utf-8", export.WriteVTT}, // of a span
	"transcript.srt": {"application/x-subrip; charset=utf-8", export.WriteSRT},
	"transcript.txt": {"text/plain; charset=utf-8", export.WriteText},
	"minutes.md":     {"text/markdown; charset=utf-8", export.WriteMarkdown},
}

// meetingFile serves a file of a meeting.
func (s *server) meetingFile(w http.ResponseWriter, r *http.Request) error {
	id, row, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	file, ok := meetingFiles[r.PathValue("file")]
	if !ok {
		return s.notFound(w, r)
	}
	kind := access.MeetingDownloaded
	if r.PathValue("file") == "captions.vtt" {
		kind = access.MeetingPlayed
		if err := s.mayPlay(r.Context(), visitorOf(r.Context()), id); err != nil {
			return err
		}
	}
	if err := s.recordRead(r.Context(), kind, id); err != nil {
		return err
	}
	m, err := export.Read(r.Context(), s.Archive, viewerOf(r.Context()), row)
	if err != nil {
		return err
	}
	if err := s.addOwn(r, m); err != nil {
		return err
	}
	if r.PathValue("file") == "clip.vtt" {
		from, to := parseSpan(r)
		if to < 0 {
			return &failure{http.StatusBadRequest, "A clip is asked for as ?t=1:23&end=1:40."}
		}
		cutTranscript(m, from, to)
	}
	var body bytes.Buffer
	if err := file.render(&body, m); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body.Bytes())
	return nil
}

// addOwn adds the notes and ticks of people here to a meeting, as an export does. To a visitor
// who does not see everything, a merged person has no name that is of other meetings alone.
func (s *server) addOwn(r *http.Request, m *export.Meeting) error {
	groups, err := s.Notes.Groups(r.Context())
	if err != nil {
		return err
	}
	same, here := groups.Same, map[string]bool{}
	for _, p := range m.People {
		here[notes.Fold(p.Name)], here[notes.Fold(p.Email)] = true, true
	}
	if !viewerOf(r.Context()).All {
		same = func(name string) []string {
			return slices.DeleteFunc(groups.Same(name), func(other string) bool { return !here[notes.Fold(other)] })
		}
	}
	return m.Add(r.Context(), s.Notes, func(_ context.Context, person int64) (string, error) { return s.nameOf(r, person) }, same)
}
