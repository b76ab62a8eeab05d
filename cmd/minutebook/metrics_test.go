package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/notify"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// TestMetrics reads the metrics of a daemon, and those of a state in which everything is set:
// Prometheus' own linter finds nothing, and docs/metrics.md, the alert rules and the dashboard
// name the metrics that exist, and no others.
func TestMetrics(t *testing.T) {
	testrun.SkipUnderRace(t)
	daemon, exist := metricsOfDaemon(t), map[string]bool{}
	sizes := regexp.MustCompile(`(?m)^minutebook_(?:index|recordings)_size_bytes .*$`).FindAllString(daemon, -1)
	if len(sizes) != 2 || sizes[0] == "minutebook_index_size_bytes 0" || sizes[1] != fmt.Sprint("minutebook_recordings_size_bytes ", len(shortRecording)) {
		t.Errorf("the sizes are %q", sizes)
	}
	for from, text := range map[string]string{"a daemon": daemon, "a state with everything": metricsOfEverything(t)} {
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		for _, p := range problems {
			t.Errorf("%s: %s: %s", from, p.Metric, p.Text)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^# TYPE (minutebook_\w+)`).FindAllStringSubmatch(text, -1) {
			exist[found[1]] = true
		}
	}
	documented := namedMetrics(t, "../../docs/metrics.md")
	for name := range exist {
		if !documented[name] {
			t.Errorf("docs/metrics.md does not have %s", name)
		}
	}
	for _, path := range []string{"../../docs/metrics.md", "../../packaging/prometheus-rules.yml", "../../packaging/grafana-dashboard.json"} {
		used := namedMetrics(t, path)
		if len(used) == 0 {
			t.Errorf("%s names no metrics", path)
		}
		for name := range used {
			if !exist[name] && !exist[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s has %s, which does not exist", path, name)
			}
		}
	}
}

const shortRecording = "a recording"

// metricsOfDaemon returns the answer of a daemon with a recording to Prometheus after an open
// failure, a page and a delivery that is refused.
func metricsOfDaemon(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Receiver.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	d, err := startDaemon(t.Context(), &cfg, zerolog.Nop(), appOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	fillRecorded(t, d.archive, []byte(shortRecording))
	if err := d.archive.RecordFailure(t.Context(), archive.Failure{Account: "ada", Class: "list", What: "page 1", Reason: "refused"}); err != nil {
		t.Fatal(err)
	}
	d.page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", d.localURL()+"/", nil))
	d.receiver.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/webhooks/nobody", strings.NewReader("{}")))
	answer := httptest.NewRecorder()
	d.page.ServeHTTP(answer, httptest.NewRequest("GET", d.localURL()+"/metrics", nil))
	return answer.Body.String()
}

// metricsOfEverything returns the answer to Prometheus in a state in which everything is set.
func metricsOfEverything(t *testing.T) string {
	t.Helper()
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
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// namedMetrics returns the metrics that a file names.
func namedMetrics(t *testing.T, path string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bminutebook_[a-z_]+`).FindAll(raw, -1) {
		names[string(name)] = true
	}
	return names
}
