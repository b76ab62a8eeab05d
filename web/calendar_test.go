package web

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestDaysOfABusyMonthLeadToTheirMeetings opens days of a month that has more meetings than its page lists.
func TestDaysOfABusyMonthLeadToTheirMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Before", "2026-03-01T09:00:00Z", ""), meeting(2, "Early walrus", "2026-03-02T09:00:00Z", ""), meeting(3, "Late walrus", "2026-03-02T20:00:00Z", ""))
	for i := range monthListSize {
		s.store(meeting(int64(10+i), fmt.Sprint("Other ", i), fmt.Sprintf("2026-03-%02dT09:00:00Z", 3+i%20), ""))
	}
	year := s.shows(200, "/calendar?year=2026")
	for day, want := range map[string][]string{"2026-03-01": {"Before"}, "2026-03-02": {"Early walrus", "Late walrus"}, "2026-03-22": {"Other 19", "Other 199"}} {
		link := regexp.MustCompile(`href="([^"]*)#d` + day + `"`).FindStringSubmatch(year)
		if link == nil {
			t.Fatalf("no link leads to %s", day)
		}
		s.shows(200, html.UnescapeString(link[1]), append(want, `id="d`+day+`"`)...)
		if late := day == "2026-03-22"; late == strings.Contains(link[1], "cursor") {
			t.Errorf("the link to %s is %s", day, link[1])
		}
	}
}

// TestCalendarNamesItsZone asks for the calendar in zones that have a name, and in one that
// the machine does not name.
func TestCalendarNamesItsZone(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	for name, want := range map[string]any{"Asia/Kathmandu": "Asia/Kathmandu", "Local": nil, "/etc/zone": nil} {
		s.server.Location = time.FixedZone(name, 3600)
		var answer map[string]any
		if s.answer(200, "/api/v1/calendar", &answer); answer["time_zone"] != want {
			t.Errorf("the zone %s is %v", name, answer["time_zone"])
		}
	}
}

// TestCalendarWhereMidnightIsLeftOut looks at the year of a place where the clock is moved from
// midnight to one on 6 September, and from midnight back to eleven on 4 April.
func TestCalendarWhereMidnightIsLeftOut(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Last hour", "2026-09-06T03:30:00Z", ""), meeting(2, "First hour", "2026-09-06T04:30:00Z", ""), meeting(3, "Days later", "2026-09-09T15:00:00Z", ""),
		meeting(4, "Again", "2026-04-05T03:30:00Z", ""))
	zone, err := time.LoadLocation("America/Santiago")
	must(t, err)
	s.server.Location = zone
	s.shows(200, "/calendar", "5 September: 1 meeting", "6 September: 1 meeting", "9 September: 1 meeting", `September</a> <span class="n">3</span>`, "4 April: 1 meeting")
	var c struct{ Days []struct{ Date string } }
	s.answer(200, "/api/v1/calendar?year=2026", &c)
	if fmt.Sprint(c.Days) != "[{2026-04-04} {2026-09-05} {2026-09-06} {2026-09-09}]" {
		t.Errorf("days %v", c.Days)
	}
	s.shows(200, "/?q=on%3A2026-09-05", "1 meeting", "Last hour")
	s.shows(200, "/?q=after%3A2026-09-06", "2 meetings", "First hour", "Days later")
	s.shows(200, "/?q=before%3A2026-09-06+after%3A2026-09-05", "1 meeting", "Last hour")
	now := time.Date(2026, 9, 6, 12, 0, 0, 0, zone)
	s.now.Store(&now)
	if body := s.shows(200, "/", "Today", "Yesterday"); strings.Index(body, "First hour") > strings.Index(body, "Yesterday") || strings.Index(body, "Last hour") < strings.Index(body, "Yesterday") {
		t.Error("the last hour of yesterday is today")
	}
}

func TestCalendarShowsAYearAndAMonth(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-03-05T10:00:00Z", ""), meeting(2, "Two", "2026-03-05T15:00:00Z", ""), meeting(3, "Old", "2024-12-31T23:30:00Z", ""))
	s.shows(200, "/calendar", "<h1>2026</h1>", `class="l2" href="/calendar/2026-03#d2026-03-05" aria-label="5 March: 2 meetings"`, `href="/calendar/2026-03">March</a> <span class="n">2</span>`, `href="/calendar?year=2025"`)
	s.shows(200, "/calendar?year=2024", "31 December: 1 meeting", `rel="next" href="/calendar?year=2025"`)
	body := s.shows(200, "/calendar/2026-03", `id="d2026-03-05"`, "One", "Two", `href="/calendar/2026-02"`)
	if strings.Contains(body, "Old") {
		t.Error("March shows another month")
	}
	s.shows(200, "/calendar/2026-05", "No meetings in this month")
	s.shows(404, "/calendar/2026-13")
	s.shows(400, "/calendar?year=x")
	if _, body := s.get("/calendar", "Test-Person", "x@example.com"); strings.Contains(body, "1 meeting") || strings.Contains(body, "2025") {
		t.Error("a stranger is told of meetings")
	}
	var c struct{ Days []struct{ Date string } }
	s.answer(200, "/api/v1/calendar?year=2026", &c)
	if len(c.Days) != 1 || c.Days[0].Date != "2026-03-05" {
		t.Errorf("days %+v", c)
	}
}
