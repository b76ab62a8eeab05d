package main

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/notify"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// metricFamily is a metric: its type, its meaning, and the values of its labels by name.
type metricFamily struct {
	kind, help string
	labels     map[string]map[string]bool
}

// row is the metric's row of docs/metrics.md.
func (f metricFamily) row(name string) string {
	return fmt.Sprintf("\n| `%s` | %s | %s | %s |\n", name, f.kind, strings.Join(slices.Sorted(maps.Keys(f.labels)), ", "), f.help)
}

// TestMetrics reads the metrics of a daemon, and those of a state in which everything is set:
// Prometheus' own linter finds nothing, docs/metrics.md has a row for each, and the document, the
// alert rules and the dashboard name no others, nor labels that a metric does not have.
func TestMetrics(t *testing.T) {
	testrun.SkipUnderRace(t)
	daemon, exist := metricsOfDaemon(t), map[string]metricFamily{}
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
		readMetrics(t, text, exist)
	}
	document := readText(t, "../../docs/metrics.md")
	for name, f := range exist {
		if !strings.Contains(document, f.row(name)) {
			t.Errorf("docs/metrics.md does not have%s", f.row(name))
		}
	}
	for _, path := range []string{"../../docs/metrics.md", "../../packaging/prometheus-rules.yml", "../../packaging/grafana-dashboard.json"} {
		checkQueries(t, path, exist)
	}
}

// readMetrics adds the metrics of an answer to those that exist.
func readMetrics(t *testing.T, text string, exist map[string]metricFamily) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range families {
		if !strings.HasPrefix(name, "minutebook_") {
			continue
		}
		if exist[name].labels == nil {
			exist[name] = metricFamily{strings.ToLower(f.GetType().String()), f.GetHelp(), map[string]map[string]bool{}}
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if exist[name].labels[l.GetName()] == nil {
					exist[name].labels[l.GetName()] = map[string]bool{}
				}
				exist[name].labels[l.GetName()][l.GetValue()] = true
			}
		}
	}
}

// checkQueries has every metric that a file names exist, with the labels and their values by
// which a query selects, and those that the query's legend or summary shows.
func checkQueries(t *testing.T, path string, exist map[string]metricFamily) {
	t.Helper()
	named := 0
	for _, query := range strings.Split(readText(t, path), "expr") { // its legend or summary follows
		labels := map[string]bool{}
		for _, found := range regexp.MustCompile(`\b(minutebook_[a-z_]+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(query, -1) {
			named++
			f, ok := exist[strings.TrimSuffix(found[1], "_bucket")]
			if !ok {
				t.Errorf("%s has %s, which does not exist", path, found[1])
			}
			for label := range f.labels {
				labels[label] = true
			}
			for _, by := range regexp.MustCompile(`(\w+)!?=\\?"([^"\\]*)`).FindAllStringSubmatch(found[2], -1) {
				if !f.labels[by[1]][by[2]] {
					t.Errorf("%s selects %s by %s, which it does not have", path, found[1], by[0])
				}
			}
		}
		for _, shown := range regexp.MustCompile(`\{\{ ?(?:\$labels\.)?(\w+) ?\}\}`).FindAllStringSubmatch(query, -1) {
			if !labels[shown[1]] {
				t.Errorf("%s shows the label %s, which the metric does not have: %.200s", path, shown[1], query)
			}
		}
	}
	if named == 0 {
		t.Errorf("%s names no metrics", path)
	}
}

// TestMetricsHaveTheirValues has a number of its own for each metric.
func TestMetricsHaveTheirValues(t *testing.T) {
	got := regexp.MustCompile(`(?m)^minutebook_.*\n`).FindAllString(metricsOfEverything(t), -1)
	if diff := cmp.Diff(strings.ReplaceAll(everyMetric, "$GO", runtime.Version()), strings.Join(got, "")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// everyMetric has the metrics of metricsOfEverything; $GO is the version of Go.
const everyMetric = `minutebook_account_suspended{account="ada"} 0
minutebook_account_suspended{account="bob"} 1
minutebook_activities 9
minutebook_budget_limit{account="ada",class="global"} 23
minutebook_budget_limit{account="ada",class="heavy"} 27
minutebook_budget_refused_total{account="ada",class="global"} 25
minutebook_budget_refused_total{account="ada",class="heavy"} 29
minutebook_budget_used{account="ada",class="global"} 22
minutebook_budget_used{account="ada",class="heavy"} 26
minutebook_budget_waiting{account="ada",class="global"} 24
minutebook_budget_waiting{account="ada",class="heavy"} 28
minutebook_build_info{go_version="$GO",version="1.2.3"} 1
minutebook_content_backlog{account="ada"} 19
minutebook_content_backlog{account="bob"} 30
minutebook_database_size_bytes{name="archive"} 1
minutebook_database_size_bytes{name="inbox"} 2
minutebook_disk_free_bytes 5
minutebook_disk_full_timestamp_seconds 7
minutebook_disk_size_bytes 6
minutebook_downloads{state="deleted"} 42
minutebook_downloads{state="done"} 39
minutebook_downloads{state="none"} 41
minutebook_downloads{state="ready"} 38
minutebook_downloads{state="refused"} 40
minutebook_downloads{state="requested"} 37
minutebook_downloads{state="wanted"} 36
minutebook_downloads_lapsed 35
minutebook_inbox_deliveries{state="applied"} 33
minutebook_inbox_deliveries{state="quarantined"} 34
minutebook_inbox_deliveries{state="received"} 32
minutebook_index_lag_meetings 101
minutebook_index_rebuilding 1
minutebook_index_size_bytes 3
minutebook_job_last_success_timestamp_seconds{account="ada",job_name="catch_up"} 20
minutebook_job_last_success_timestamp_seconds{account="ada",job_name="walk"} 21
minutebook_job_last_success_timestamp_seconds{account="bob",job_name="refresh"} 31
minutebook_notify_failing{channel="mail"} 1
minutebook_notify_failing{channel="webhook"} 0
minutebook_notify_waiting{channel="mail"} 10
minutebook_notify_waiting{channel="webhook"} 11
minutebook_problems 43
minutebook_recordings_size_bytes 4
minutebook_sessions 8
minutebook_upkeep_failed{task="backup"} 1
minutebook_upkeep_failed{task="prove"} 0
minutebook_upkeep_failed{task="verify"} 1
minutebook_upkeep_last_success_timestamp_seconds{task="backup"} 12
minutebook_upkeep_last_success_timestamp_seconds{task="prove"} 14
minutebook_upkeep_last_success_timestamp_seconds{task="verify"} 15
minutebook_upkeep_next_timestamp_seconds{task="backup"} 13
minutebook_upkeep_next_timestamp_seconds{task="verify"} 16
minutebook_verify_damages 18
minutebook_verify_whole_timestamp_seconds 17
`

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
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	s := &control.StatusResult{
		Meetings: 1001, Indexed: 900, Rebuilding: true, Databases: map[string]int64{"archive": 1, "inbox": 2}, IndexSize: 3, RecordingsSize: 4,
		Disk: control.Disk{Free: 5, Size: 6, FullAt: at(7)}, Sessions: 8, Activities: make([]control.Activity, 9),
		Notify: []notify.ChannelState{{Name: "mail", Waiting: 10, Error: "refused"}, {Name: "webhook", Waiting: 11}},
		Upkeep: map[string]control.UpkeepState{
			control.UpkeepBackup: {Succeeded: at(12), Next: at(13), Warnings: []string{"a meeting is missing"}},
			control.UpkeepProve:  {Succeeded: at(14), Error: "no backup", Scheduled: true}, // which nobody wants any more
			control.UpkeepVerify: {Succeeded: at(15), Next: at(16), Whole: at(17), Damages: map[int]int{1: 10, 2: 8}, Error: "damage"},
		},
		Status: syncer.Status{
			Accounts: []syncer.AccountStatus{
				{Name: "ada", ContentTasks: 19, LastSuccess: map[string]time.Time{syncer.JobCatchUp: at(20), syncer.JobWalk: at(21)}, Budget: []api.Usage{
					{Class: api.ClassGlobal, Used: 22, Limit: 23, Waiting: 24, Refused: 25},
					{Class: api.ClassHeavy, Used: 26, Limit: 27, Waiting: 28, Refused: 29}}},
				{Name: "bob", ContentTasks: 30, Suspended: "401", LastSuccess: map[string]time.Time{syncer.JobRefresh: at(31)}},
			},
			Inbox: inbox.Counts{Received: 32, Applied: 33, Quarantined: 34},
			Downloads: syncer.DownloadStatus{Lapsed: 35, Queue: map[archive.DownloadState]int{archive.DownloadWanted: 36, archive.DownloadRequested: 37,
				archive.DownloadReady: 38, archive.DownloadDone: 39, archive.DownloadRefused: 40, archive.DownloadNone: 41, archive.DownloadDeleted: 42}},
			Problems: make([]string, 43),
		},
	}
	r := prometheus.NewRegistry()
	if err := control.RegisterMetrics(r, "1.2.3", func(context.Context) (*control.StatusResult, error) { return s, nil }, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// readText returns the text of a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
