package web

import (
	"fmt"
	"html/template"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/internal/civil"
	"minutebook/search/text"
)

// staticRoot is where the site's own files are, below its directory.
const staticRoot = "static/"

// staticSite renders an export with the templates of the page. Its links lead from
// file to file; search and other parts that need an archive are left out.
type staticSite struct {
	langs  *text.Languages
	assets *assets
	pages  map[string]*template.Template
	zone   *time.Location
}

// NewSite returns the renderer of [export.HTML], with times in a zone (nil for
// UTC). Its pages need neither scripts nor a server.
func NewSite(zone *time.Location) (export.Site, error) {
	if zone == nil {
		zone = time.UTC
	}
	a, err := loadAssets()
	if err != nil {
		return nil, err
	}
	funcs := templateFuncs(a, "", zone)
	funcs["asset"] = func(name string) string { return staticRoot + name }
	s := &staticSite{langs: text.NewLanguages(), assets: a, zone: zone, pages: map[string]*template.Template{}}
	for page, files := range map[string][]string{
		"meeting": {"meeting.html", "site/links.html", "site/layout.html"},
		"index":   {"site/links.html", "site/layout.html", "site/index.html"},
		"person":  {"site/links.html", "site/layout.html", "site/person.html"},
	} {
		for i := range files {
			files[i] = "templates/" + files[i]
		}
		t := template.New("").Funcs(funcs)
		for _, file := range files {
			if t, err = t.ParseFS(templateFiles, file); err != nil {
				return nil, fmt.Errorf("read the template of the site's %s: %w", page, err)
			}
		}
		s.pages[page] = t
	}
	return s, nil
}

// sitePage is a meeting's page in a site. Root is the relative path to the site's
// top.
type sitePage struct {
	meetingPage
	Root string
}

// Meeting renders a meeting. Moments lead to the line of the transcript that
// was said then.
func (s *staticSite) Meeting(w io.Writer, m *export.Meeting) error {
	p := &sitePage{Root: rootFrom(m.File)}
	p.listed = newListed(m.Row, s.zone)
	p.At, p.End = -1, -1
	p.Page, p.Heading = "meeting", meetingTitle(m.Row)
	p.Title = p.Heading
	p.setHeader(m.Notes, s.zone)
	p.People, p.Invited = listParticipants(m), "People"
	moment := func(at time.Duration) string {
		if i := lineAt(m.Entries, at); i >= 0 {
			return "#e" + strconv.Itoa(m.Entries[i].Index)
		}
		return "#transcript"
	}
	err := p.setContent(m.Notes, m.Entries, s.langs.Get(text.BaseCode(m.Row.Language)), marker{}, func(seconds int64) string { return moment(time.Duration(seconds) * time.Second) })
	if err != nil {
		return err
	}
	for i := range p.Lines {
		p.Lines[i].Address = "#e" + strconv.Itoa(p.Lines[i].Index)
	}
	for i := range p.Actions {
		p.Actions[i].Address = moment(p.Actions[i].At)
		_, p.Actions[i].Here = m.Added.Ticks[notes.Item{RecordingID: m.Row.RecordingID, At: p.Actions[i].At, Text: p.Actions[i].Text}]
	}
	for i := range p.Highlights {
		p.Highlights[i].Address = moment(p.Highlights[i].From)
	}
	p.Player.State = "There is no recording of this meeting in the archive."
	if m.Row.HasVideo || m.Row.HasAudio {
		p.Player.State = "The recording is in the archive; an export holds the text only."
	}
	return s.render(w, "meeting", p)
}

// listParticipants returns the invitees, speakers and recorder of a meeting, with
// their pages.
func listParticipants(m *export.Meeting) []person {
	external := map[string]bool{}
	for _, p := range listInvited(m.Notes) {
		external[strings.ToLower(p.Email)] = p.External && p.Email != ""
	}
	var all []person
	for _, p := range m.People {
		all = append(all, person{Name: p.Name, Email: p.Email, External: external[p.Email], Page: p.File})
	}
	return all
}

// siteDay is the meetings of one day, in a list of a site.
type siteDay struct {
	Name     string
	Meetings []siteRow
}

type siteRow struct {
	export.ListEntry
	Dated bool
}

// siteList is a page with a list of meetings. Root is the relative path to the
// site's top.
type siteList struct {
	frame
	Root  string
	Email string // of a person's page
	Count int
	Days  iter.Seq[siteDay]
}

// Index renders the list of all meetings.
func (s *staticSite) Index(w io.Writer, all export.List) error {
	return s.render(w, "index", &siteList{frame: frame{Page: "index", Title: "Meetings"}, Count: all.Count, Days: s.groupByDay(all)})
}

// Person renders the list of a person's meetings.
func (s *staticSite) Person(w io.Writer, p export.PersonPage) error {
	return s.render(w, "person", &siteList{frame: frame{Page: "person", Title: p.Name}, Root: rootFrom(p.File), Email: p.Email,
		Count: p.Count, Days: s.groupByDay(p.List)})
}

// rootFrom returns the relative path from a file to the site's top.
func rootFrom(file string) string { return strings.Repeat("../", strings.Count(file, "/")) }

// groupByDay groups a list by day while it is read.
func (s *staticSite) groupByDay(list export.List) iter.Seq[siteDay] {
	return func(yield func(siteDay) bool) {
		var day siteDay
		for e := range list.Meetings {
			row := siteRow{ListEntry: e, Dated: civil.IsKnown(e.Start)}
			name := "Undated"
			if row.Dated {
				row.Start = e.Start.In(s.zone)
				name = row.Start.Format("Monday, 2 January 2006")
			}
			if row.Title == "" {
				row.Title = "Untitled meeting"
			}
			if name != day.Name && len(day.Meetings) > 0 {
				if !yield(day) {
					return
				}
				day.Meetings = nil
			}
			day.Name = name
			day.Meetings = append(day.Meetings, row)
		}
		if len(day.Meetings) > 0 {
			yield(day)
		}
	}
}

// Files returns the style sheet, the icon and the fonts.
func (s *staticSite) Files() map[string][]byte {
	files := map[string][]byte{}
	for name, address := range s.assets.address {
		if !strings.HasSuffix(name, ".js") {
			files[staticRoot+name] = s.assets.byPath[address].body
		}
	}
	return files
}

func (s *staticSite) render(w io.Writer, page string, data any) error {
	if err := s.pages[page].ExecuteTemplate(w, "layout", data); err != nil {
		return fmt.Errorf("write the %s page: %w", page, err)
	}
	return nil
}
