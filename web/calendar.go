package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/internal/civil"
)

// monthListSize is how many meetings of a month a page lists.
const monthListSize = 200

// calendarPage is a year of days.
type calendarPage struct {
	frame
	Year             int
	Meetings         int
	Earlier, Later   string // addresses of the years before and after; "" where there are no meetings
	Months           []calendarMonth
	EarlierY, LaterY int
}

// calendarMonth is a month as weeks of days.
type calendarMonth struct {
	Name, Address string
	Meetings      int
	Weeks         [][7]calendarDay
}

// calendarDay is a day of a month; Number is 0 outside of it.
type calendarDay struct {
	Number, Meetings int
	Level            int // 0 to 4, by the busiest day of the year
	Label, Address   string
}

// monthPage lists the meetings of a month.
type monthPage struct {
	frame
	Name           string
	Year           string // the address of the year
	YearName       int
	Earlier, Later string // addresses of the months before and after
	Days           []day
	Newest, Older  string // addresses of the whole month, where the page begins later, and of its rest
}

func monthAddress(begin time.Time) string { return "/calendar/" + begin.Format("2006-01") }

func yearAddress(year int) string { return "/calendar?year=" + strconv.Itoa(year) }

// calendar answers /calendar?year=.
func (s *server) calendar(w http.ResponseWriter, r *http.Request) error {
	begin, c, err := s.countYear(r)
	if err != nil {
		return err
	}
	year := begin.Year()
	p := calendarPage{frame: s.newFrame(r, "calendar", "Calendar "+strconv.Itoa(year)), Year: year, EarlierY: year - 1, LaterY: year + 1}
	if !c.Oldest.IsZero() && c.Oldest.Before(begin) {
		p.Earlier = yearAddress(year - 1)
	}
	if !c.Newest.IsZero() && !c.Newest.Before(begin.AddDate(1, 0, 0)) {
		p.Later = yearAddress(year + 1)
	}
	most := 4 // so that one meeting on a day is no busy day
	for _, d := range c.Days {
		most = max(most, d.Meetings)
	}
	for month := range 12 {
		m := newMonth(time.Date(year, time.Month(month+1), 1, 0, 0, 0, 0, time.UTC), most, s.Location, func(day time.Time) int { return c.Days[day].Meetings })
		p.Months, p.Meetings = append(p.Months, m), p.Meetings+m.Meetings
	}
	return s.render(w, http.StatusOK, "calendar", p)
}

// newMonth makes a month of the year's calendar, of dates whose days are in a zone; most is the
// count of the busiest day. The month's page begins with a day of which it would not list all
// meetings otherwise.
func newMonth(begin time.Time, most int, zone *time.Location, count func(day time.Time) int) calendarMonth {
	m := calendarMonth{Name: begin.Format("January"), Address: monthAddress(begin)}
	for day := begin; day.Month() == begin.Month(); day = day.AddDate(0, 0, 1) {
		m.Meetings += count(day)
	}
	left := m.Meetings // of the day and those after it
	for day := begin; day.Month() == begin.Month(); day = day.AddDate(0, 0, 1) {
		column := (int(day.Weekday()) + 6) % 7 // weeks begin on Monday
		if column == 0 || len(m.Weeks) == 0 {
			m.Weeks = append(m.Weeks, [7]calendarDay{})
		}
		n, address := count(day), m.Address
		if left > monthListSize {
			end := archive.Key{Start: civil.Day(day.Year(), day.Month(), day.Day()+1, zone)}
			address += "?cursor=" + end.String()
		}
		left -= n
		m.Weeks[len(m.Weeks)-1][column] = calendarDay{Number: day.Day(), Meetings: n, Level: (4*n + most - 1) / most,
			Label:   day.Format("2 January") + ": " + formatCount(n, "meeting", "meetings"),
			Address: address + "#d" + day.Format(time.DateOnly)}
	}
	return m
}

// month answers /calendar/{month}: 2026-03.
func (s *server) month(w http.ResponseWriter, r *http.Request) error {
	begin, err := time.Parse("2006-01", r.PathValue("month"))
	if err != nil {
		return &failure{http.StatusNotFound, "A month's address ends like 2026-03."}
	}
	list, err := s.listQuery(r)
	if err != nil {
		return err
	}
	end := begin.AddDate(0, 1, 0)
	rows, err := s.Archive.List(r.Context(), archive.ListQuery{Viewer: list.Viewer,
		After: civil.Day(begin.Year(), begin.Month(), 1, s.Location).Add(-time.Millisecond), Before: civil.Day(end.Year(), end.Month(), 1, s.Location),
		IncludeGone: true, Cursor: list.Cursor, Limit: monthListSize + 1})
	if err != nil {
		return err
	}
	p := monthPage{frame: s.newFrame(r, "month", begin.Format("January 2006")), Name: begin.Format("January 2006"), Year: yearAddress(begin.Year()), YearName: begin.Year(),
		Earlier: monthAddress(begin.AddDate(0, -1, 0)), Later: monthAddress(end)}
	if list.Cursor != nil {
		p.Newest = monthAddress(begin)
	}
	if len(rows) > monthListSize {
		rows = rows[:monthListSize]
		p.Older = monthAddress(begin) + "?cursor=" + rows[monthListSize-1].Key().String()
	}
	rows = slices.DeleteFunc(rows, func(row *archive.Row) bool { return !civil.IsKnown(row.Key().Start) }) // in January 1970
	p.Days = s.groupByDay(rows)
	return s.render(w, http.StatusOK, "month", p)
}

// countYear counts the meetings of each day of ?year=, or of this year, which begins at
// begin.
func (s *server) countYear(r *http.Request) (begin time.Time, c roster.Calendar, err error) {
	year, err := parseNumber(r.URL.Query(), "year", s.Now().In(s.Location).Year(), 1, 9999)
	if err != nil {
		return begin, c, err
	}
	view, err := s.view(r.Context())
	if err != nil {
		return begin, c, err
	}
	begin = time.Date(year, 1, 1, 0, 0, 0, 0, s.Location)
	c, err = s.Roster.Calendar(r.Context(), view, begin, begin.AddDate(1, 0, 0))
	return begin, c, err
}

// zoneName returns the IANA name of a time zone, or "" where the machine does not say it.
func zoneName(zone *time.Location) string {
	if name := zone.String(); name != "Local" && !strings.HasPrefix(name, "/") {
		return name
	}
	return ""
}

// apiCalendar counts the meetings of each day of ?year=.
func (s *server) apiCalendar(w http.ResponseWriter, r *http.Request) error {
	begin, c, err := s.countYear(r)
	if err != nil {
		return err
	}
	year := begin.Year()
	type dayJSON struct {
		Date         string  `json:"date"`
		Meetings     int     `json:"meetings"`
		TotalSeconds float64 `json:"total_seconds"`
	}
	out := struct {
		Year int       `json:"year"`
		Zone string    `json:"time_zone,omitempty"`
		Days []dayJSON `json:"days"`
	}{year, zoneName(s.Location), []dayJSON{}}
	for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == year; day = day.AddDate(0, 0, 1) {
		if d := c.Days[day]; d.Meetings > 0 {
			out.Days = append(out.Days, dayJSON{day.Format(time.DateOnly), d.Meetings, d.Time.Seconds()})
		}
	}
	return answerJSON(w, r, out)
}
