package packaging_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/config"
	"minutebook/internal/crontab"
)

// ageRule matches an alert about the age of a time by job or by task of upkeep.
var ageRule = regexp.MustCompile(`(?m)^ +expr: time\(\) - minutebook_(\w+)_timestamp_seconds\{\w+=~?"([\w|]+)"\} > ([\d* ]+)$`)

// TestAlertsFitSchedules has runs that take half a day, by the schedules of [sync] and a
// weekly backup, in a zone whose days have 23 to 25 hours: no age that a run reaches before
// its end alerts anybody.
func TestAlertsFitSchedules(t *testing.T) {
	const longest = 12 * time.Hour
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	sync := config.Default().Sync
	schedules := map[string]string{"catch_up": sync.CatchUp, "walk": sync.Walk, "backup": "0 4 * * 1"}
	found := ageRule.FindAllStringSubmatch(string(raw), -1)
	if len(found) != strings.Count(string(raw), "time() - ") || len(found) == 0 {
		t.Fatalf("only %d ages were found", len(found))
	}
	for _, rule := range found {
		bound := time.Second
		for _, factor := range strings.Split(rule[3], "*") {
			n, err := strconv.Atoi(strings.TrimSpace(factor))
			if err != nil {
				t.Fatal(err)
			}
			bound *= time.Duration(n)
		}
		for _, job := range strings.Split(rule[2], "|") {
			schedule, err := crontab.Parse(schedules[job], zone)
			if err != nil {
				t.Fatal(job, err)
			}
			age := longest
			for at := schedule.Next(time.Date(2026, 3, 20, 0, 0, 0, 0, zone)); at.Year() == 2026; {
				next := schedule.Next(at)
				if strings.Contains(rule[1], "last_success") { // of the next run is the time that is planned
					age = max(age, next.Sub(at)+longest)
				}
				at = next
			}
			if age > bound {
				t.Errorf("%s of %s: %v is normal, and more than %v alerts", rule[1], job, age, bound)
			}
		}
	}
}
