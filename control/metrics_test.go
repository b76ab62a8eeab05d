package control_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/notify"
	syncer "minutebook/sync"
)

// TestMetrics gathers the metrics of a state in which everything is set: Prometheus'
// own linter finds nothing, and docs/metrics.md, the alert rules and the dashboard name
// the metrics that exist, and no others.
func TestMetrics(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := &control.StatusResult{
		Meetings: 5, Indexed: 3, Databases: map[string]int64{"archive": 1}, Disk: control.Disk{FullAt: now},
		Notify: []notify.ChannelState{{Name: "mail", Waiting: 2, Error: "refused"}},
		Upkeep: map[string]control.UpkeepState{control.UpkeepVerify: {Succeeded: now, Whole: now, Next: now}},
		Status: syncer.Status{Accounts: []syncer.AccountStatus{{Name: "ada", LastSuccess: map[string]time.Time{"walk": now}, Budget: []api.Usage{{Class: api.ClassGlobal}}}}},
	}
	r := prometheus.NewRegistry()
	if err := control.RegisterMetrics(r, "1", func(context.Context) (*control.StatusResult, error) { return s, nil }, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if err != nil {
		t.Fatal(err)
	}
	documented := namedMetrics(t, "../docs/metrics.md")
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "minutebook_") && !documented[name] {
			t.Errorf("docs/metrics.md does not have %s", name)
		}
		delete(documented, name)
	}
	for name := range documented { // those of the page and the receiver, which register their own
		if !strings.HasPrefix(name, "minutebook_web_") && !strings.HasPrefix(name, "minutebook_receiver_") &&
			name != "minutebook_meetings" && name != "minutebook_indexed_meetings" && name != "minutebook_open_failures" {
			t.Errorf("docs/metrics.md has %s, which does not exist", name)
		}
	}
	documented = namedMetrics(t, "../docs/metrics.md")
	for _, path := range []string{"../packaging/prometheus-rules.yml", "../packaging/grafana-dashboard.json"} {
		used := namedMetrics(t, path)
		if len(used) == 0 {
			t.Errorf("%s names no metrics", path)
		}
		for name := range used {
			if !documented[name] && !documented[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s uses %s, which does not exist", path, name)
			}
		}
	}
}

// namedMetrics returns the metrics that a file names.
func namedMetrics(t *testing.T, path string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bminutebook_[a-z_]+`).FindAllString(string(raw), -1) {
		names[name] = true
	}
	return names
}
