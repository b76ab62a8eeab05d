package packaging_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"minutebook/config"
	"minutebook/internal/crontab"
	"minutebook/internal/testrun"
)

// alert is a rule of prometheus-rules.yml.
type alert struct {
	Alert       string
	Expr        string
	For         string
	Annotations struct{ Summary string }
}

// readAlerts reads prometheus-rules.yml, and allows nothing that an alert here does not have.
func readAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	raw, err := os.ReadFile("prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		alerts = append(alerts, g.Rules...)
	}
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	return alerts
}

// panel is a panel of grafana-dashboard.json.
type panel struct {
	ID         int
	Title      string
	Type       string
	Datasource struct{ Type, UID string }
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct{ RefID, Expr, LegendFormat string }
}

// readPanels reads grafana-dashboard.json.
func readPanels(t *testing.T) []panel {
	t.Helper()
	raw, err := os.ReadFile("grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Templating struct{ List []struct{ Name, Type string } }
		Panels     []panel
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	if v := dashboard.Templating.List; len(v) != 1 || v[0].Name != "datasource" || v[0].Type != "datasource" || len(dashboard.Panels) == 0 {
		t.Fatalf("the dashboard lacks its source or its panels: %+v", v)
	}
	return dashboard.Panels
}

// TestAlertsAndPanelsAreWhole reads the alert rules and the dashboard: every alert has a name of
// its own, a time and a summary that Prometheus can fill in, and every panel a place of its own
// and queries.
func TestAlertsAndPanelsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, a := range readAlerts(t) {
		if a.Alert == "" || names[a.Alert] || a.Expr == "" || a.Annotations.Summary == "" {
			t.Errorf("%+v is not whole, or there twice", a)
		}
		names[a.Alert] = true
		if _, err := model.ParseDuration(a.For); a.For != "" && err != nil {
			t.Errorf("%s: %v", a.Alert, err)
		}
		if _, err := template.New("").Parse("{{$labels := .}}{{$value := .}}" + a.Annotations.Summary); err != nil {
			t.Errorf("%s: %v", a.Alert, err)
		}
	}
	type square struct{ x, y int }
	ids, squares := map[int]bool{}, map[square]string{}
	for _, p := range readPanels(t) {
		if p.Title == "" || p.Type == "" || ids[p.ID] || p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%+v is not whole, or there twice", p)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := square{p.GridPos.X + x, p.GridPos.Y + y}
				if squares[at] != "" || at.x >= 24 {
					t.Fatalf("%s lies over %q, or beyond the edge", p.Title, squares[at])
				}
				squares[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			if target.RefID == "" || target.Expr == "" || target.LegendFormat == "" {
				t.Errorf("%s: %+v is not whole", p.Title, target)
			}
		}
	}
}

// TestPrometheusReadsAlertsAndQueries has Prometheus' own tool check the alert rules, and the
// queries of the dashboard as rules.
func TestPrometheusReadsAlertsAndQueries(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	const module = "github.com/prometheus/prometheus"
	promtool := testrun.Build(t, module, module+"/cmd/promtool", "v0.316.0")
	type record struct{ Record, Expr string }
	type group struct {
		Name  string
		Rules []record
	}
	queries := group{Name: "queries"}
	for _, p := range readPanels(t) {
		for _, target := range p.Targets {
			queries.Rules = append(queries.Rules, record{fmt.Sprintf("query_%d_%s", p.ID, target.RefID), target.Expr})
		}
	}
	raw, err := yaml.Marshal(map[string][]group{"groups": {queries}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"prometheus-rules.yml", path} {
		if out, err := exec.Command(promtool, "check", "rules", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// ageRule matches the expression of an alert about the age of a time by job or by task of
// upkeep.
var ageRule = regexp.MustCompile(`^time\(\) - minutebook_(\w+)_timestamp_seconds\{\w+=~?"([\w|]+)"\} > ([\d* ]+)$`)

// TestAlertsFitSchedules has runs that take half a day, by the schedules of [sync] and a
// weekly backup, in a zone whose days have 23 to 25 hours: no age that a run reaches before
// its end alerts anybody.
func TestAlertsFitSchedules(t *testing.T) {
	const longest = 12 * time.Hour
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	sync := config.Default().Sync
	schedules := map[string]string{"catch_up": sync.CatchUp, "walk": sync.Walk, "backup": "0 4 * * 1"}
	ages := slices.DeleteFunc(readAlerts(t), func(a alert) bool { return !strings.HasPrefix(a.Expr, "time() - ") })
	if len(ages) == 0 {
		t.Fatal("no alert is about an age")
	}
	for _, a := range ages {
		rule := ageRule.FindStringSubmatch(a.Expr)
		if rule == nil {
			t.Fatalf("%s is not understood: %s", a.Alert, a.Expr)
		}
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
