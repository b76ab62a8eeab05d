package web

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDaysOfABusyMonthLeadToTheirMeetings opens days of a month that has more meetings than its page lists.
func TestDaysOfABusyMonthLeadToTheirMeetings(t *testing.T) {
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
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	for name, want := range map[string]any{"Asia/Kathmandu": "Asia/Kathmandu", "Local": nil, "/etc/zone": nil} {
		s.server.Location = time.FixedZone(name, 3600)
		var answer map[string]any
		if s.answer(200, "/api/v1/calendar", &answer); answer["time_zone"] != want {
			t.Errorf("the zone %s is %v", name, answer["time_zone"])
		}
	}
}
