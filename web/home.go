package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/roster"
)

// listSize is how many meetings a page of the list shows.
const listSize = 50

// fewMeetings: to a visitor who sees no more, they are listed by their numbers. To look for
// the visible ones among 100,000 takes most of a second.
const fewMeetings = 1000

// homePage is the list of meetings, newest first.
type homePage struct {
	frame
	Counts roster.Counts
	Others int // the meetings of the archive, for an admin who sees none of them
	Days   []day
	News   int // how many meetings arrived or changed since the visitor looked
	Filter listFilter
	Older  string // the address of the next page
	Newest string // the address of the first page; "" on that page
	Live   string // the position in the change log from which scripts wait for changes
}

// day is the meetings of one day.
type day struct {
	Name     string
	Date     time.Time
	Meetings []listed
}

// listed is a meeting as a row of a list.
type listed struct {
	*archive.Row
	Start  time.Time // in the reader's zone; zero when it is not known
	Length time.Duration
}

// home answers / with the list, or with search results for a query.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if query := strings.TrimSpace(q.Get("q")); query != "" {
		return s.results(w, r, query)
	}
	list, err := s.listQuery(r)
	if err != nil {
		return err
	}
	p := homePage{frame: s.newFrame(r, "home", "")}
	p.Live = s.logPosition(r, 0)
	rows, err := s.Archive.List(r.Context(), list)
	if err != nil {
		return err
	}
	view, err := s.view(r.Context())
	if err != nil {
		return err
	}
	if p.Counts, err = s.Roster.Count(r.Context(), view); err != nil {
		return err
	}
	if p.News, err = s.countNews(r.Context(), view); err != nil {
		return err
	}
	if p.Counts.Meetings == 0 && s.needsSetup(r.Context()) {
		return s.seeOther(w, r, "/setup")
	}
	if p.Counts.Meetings == 0 && p.Admin {
		all, err := s.Roster.Count(r.Context(), roster.View{Viewer: archive.Viewer{All: true}})
		if err != nil {
			return err
		}
		p.Others = all.Meetings
	}
	if p.Filter, err = s.listFilter(r, list); err != nil {
		return err
	}
	if len(rows) > listSize {
		rows = rows[:listSize]
		q.Set("cursor", rows[listSize-1].Key().String())
		p.Older = "/?" + q.Encode()
	}
	if list.Cursor != nil {
		q.Del("cursor")
		p.Newest = "/?" + q.Encode()
	}
	p.Days = s.groupByDay(rows)
	return s.render(w, http.StatusOK, "home", p)
}

// listQuery reads the list's filters and its cursor from an address.
func (s *server) listQuery(r *http.Request) (archive.ListQuery, error) {
	q := r.URL.Query()
	list := archive.ListQuery{Viewer: viewerOf(r.Context()), Type: q.Get("type"), Team: q.Get("team"),
		RecordedBy: q.Get("recorded_by"), Person: q.Get("person"),
		IncludeGone: true, Limit: listSize + 1}
	if err := s.restore(r.Context(), &list.Type, &list.Team); err != nil {
		return list, err
	}
	view, err := s.view(r.Context())
	if err != nil {
		return list, err
	}
	if !list.Viewer.All {
		if list.Among, err = s.Roster.Few(r.Context(), view, fewMeetings); err != nil {
			return list, err
		}
	}
	if list.Person != "" {
		if list.SamePerson, err = s.Roster.NamesOf(r.Context(), view, list.Person); err != nil {
			return list, err
		}
	}
	if c := q.Get("cursor"); c != "" {
		key, err := archive.ParseKey(c)
		if err != nil {
			return list, &failure{http.StatusBadRequest, fmt.Sprintf("The list has no place %q; begin at the newest.", c)}
		}
		list.Cursor = &key
	}
	return list, nil
}

// restore gives the type and the team that a form has sent the line breaks of its options:
// see asSent.
func (s *server) restore(ctx context.Context, kind, team *string) error {
	if !strings.ContainsAny(*kind+*team, "\n\ufffd") {
		return nil
	}
	c, err := s.choices(ctx)
	for _, value := range c.Types {
		if asSent(value) == *kind {
			*kind = value
		}
	}
	for _, value := range c.Teams {
		if asSent(value) == *team {
			*team = value
		}
	}
	return err
}

// groupByDay groups rows, which come newest first, by the day of their start in the
// reader's zone.
func (s *server) groupByDay(rows []*archive.Row) []day {
	now := s.Now().In(s.Location)
	var days []day
	for _, row := range rows {
		m := s.newListed(row)
		if n := len(days); n == 0 || !sameDay(days[n-1].Date, m.Start) {
			days = append(days, day{Name: dayName(m.Start, now), Date: m.Start})
		}
		d := &days[len(days)-1]
		d.Meetings = append(d.Meetings, m)
	}
	return days
}

func (s *server) newListed(row *archive.Row) listed { return newListed(row, s.Location) }

func newListed(row *archive.Row, zone *time.Location) listed {
	return listed{Row: row, Start: knownIn(row.Key().Start, zone), Length: row.Length()}
}
