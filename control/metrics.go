package control

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"minutebook/archive"
)

// gatherTime is how long reading the metrics may take.
const gatherTime = 10 * time.Second

// collector reads the metrics of an archive and its sync when they are gathered.
type collector struct {
	version string
	observe func(context.Context) (*StatusResult, error)
	log     zerolog.Logger
}

// RegisterMetrics registers the metrics of the archive, the sync, the upkeep, Go and
// the process. docs/metrics.md describes each of them.
func RegisterMetrics(r *prometheus.Registry, version string, observe func(context.Context) (*StatusResult, error), log zerolog.Logger) error {
	for _, c := range []prometheus.Collector{&collector{version, observe, log}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Describe implements prometheus.Collector. It describes nothing: the metrics depend on
// the accounts, which can change.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It leaves out all metrics but build_info when
// the state cannot be read.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
	defer cancel()
	g := gathering{out}
	g.gauge("build_info", "The version that runs.", 1, "version", c.version, "go_version", runtime.Version())
	s, err := c.observe(ctx)
	if err != nil {
		c.log.Error().Err(err).Msg("gather metrics")
		return
	}
	g.archive(s)
	for _, a := range s.Accounts {
		g.account(a.Name, a.Suspended != "", a.LastSuccess)
		g.gauge("content_backlog", "Meetings whose transcript or summary is still to be read, by account.", float64(a.ContentTasks), "account", a.Name)
		for _, u := range a.Budget {
			labels := []string{"account", a.Name, "class", string(u.Class)}
			g.gauge("budget_used", "Calls of the last minute, by account and class.", float64(u.Used), labels...)
			g.gauge("budget_limit", "Calls that the service allows in a minute, by account and class.", float64(u.Limit), labels...)
			g.gauge("budget_waiting", "Calls that wait for the budget, by account and class.", float64(u.Waiting), labels...)
			g.counter("budget_refused_total", "Answers 429 since the start, by account and class.", float64(u.Refused), labels...)
		}
	}
	g.upkeep(s)
}

// gathering sends metrics.
type gathering struct{ out chan<- prometheus.Metric }

func (g gathering) send(kind prometheus.ValueType, name, help string, v float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	g.out <- prometheus.MustNewConstMetric(prometheus.NewDesc("minutebook_"+name, help, names, nil), kind, v, values...)
}

func (g gathering) gauge(name, help string, v float64, labels ...string) {
	g.send(prometheus.GaugeValue, name, help, v, labels...)
}

func (g gathering) counter(name, help string, v float64, labels ...string) {
	g.send(prometheus.CounterValue, name, help, v, labels...)
}

// time sends a time, unless it is not known.
func (g gathering) time(name, help string, at time.Time, labels ...string) {
	if !at.IsZero() {
		g.gauge(name, help, float64(at.Unix()), labels...)
	}
}

func (g gathering) account(name string, suspended bool, last map[string]time.Time) {
	g.gauge("account_suspended", "1 while the service refuses the account, which needs a person.", number(suspended), "account", name)
	for job, at := range last {
		g.time("job_last_success_timestamp_seconds", "When the last successful run of a job began, by account and job.", at, "account", name, "job_name", job)
	}
}

func (g gathering) archive(s *StatusResult) {
	g.gauge("index_lag_meetings", "Meetings of the archive that a search does not find yet.", float64(max(0, s.Meetings-s.Indexed)))
	g.gauge("index_rebuilding", "1 while the index is built anew.", number(s.Rebuilding))
	for state, n := range map[string]int{"received": s.Inbox.Received, "applied": s.Inbox.Applied, "quarantined": s.Inbox.Quarantined} {
		g.gauge("inbox_deliveries", "Deliveries ever acknowledged, by state; received ones wait, quarantined ones need a person.", float64(n), "state", state)
	}
	for _, state := range []archive.DownloadState{archive.DownloadWanted, archive.DownloadRequested, archive.DownloadReady,
		archive.DownloadDone, archive.DownloadRefused, archive.DownloadNone, archive.DownloadDeleted} {
		g.gauge("downloads", "Recordings in the queue, by state.", float64(s.Downloads.Queue[state]), "state", string(state))
	}
	g.gauge("downloads_lapsed", "Recordings that are not here yet, and a link to which expired.", float64(s.Downloads.Lapsed))
	g.gauge("activities", "Long operations that run now, such as a backup.", float64(len(s.Activities)))
	g.gauge("problems", "Parts of the sync that do not work at present.", float64(len(s.Problems)))
}

func (g gathering) upkeep(s *StatusResult) {
	for job, u := range s.Upkeep {
		g.time("upkeep_last_success_timestamp_seconds", "When the last successful backup, proof or check began, by task.", u.Succeeded, "task", job)
		g.gauge("upkeep_failed", "1 when the last run of a task of upkeep failed or left a warning, by task.", number((u.Error != "" || len(u.Warnings) > 0) && !u.isAbandoned()), "task", job)
	}
	g.gauge("verify_damages", "Damages that the checks have found and nothing has repaired.", float64(s.Upkeep[UpkeepVerify].Damaged()))
	g.time("verify_whole_timestamp_seconds", "When every slice of the archive was last checked.", s.Upkeep[UpkeepVerify].Whole)
	g.gauge("disk_free_bytes", "Free space of the disk with the data directory.", float64(s.Disk.Free))
	g.gauge("disk_size_bytes", "Size of the disk with the data directory.", float64(s.Disk.Size))
	g.time("disk_full_timestamp_seconds", "When the disk is full if it goes on filling as in the last days; absent when it does not.", s.Disk.FullAt)
	for job, u := range s.Upkeep {
		g.time("upkeep_next_timestamp_seconds", "When the next run of a task of upkeep is planned, by task; absent without a schedule.", u.Next, "task", job)
	}
	for name, size := range s.Databases {
		g.gauge("database_size_bytes", "Size of a database with its write-ahead log, by name.", float64(size), "name", name)
	}
	g.gauge("index_size_bytes", "Size of the search index.", float64(s.IndexSize))
	g.gauge("recordings_size_bytes", "Size of the recordings, on the disk or in the bucket.", float64(s.RecordingsSize))
	for _, c := range s.Notify {
		g.gauge("notify_failing", "1 while a channel to people does not work, by channel.", number(c.Error != ""), "channel", c.Name)
		g.gauge("notify_waiting", "Messages that wait for a channel, by channel.", float64(c.Waiting), "channel", c.Name)
	}
	g.gauge("sessions", "Sessions of people who are signed in.", float64(s.Sessions))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// databaseSizes returns the sizes of the databases in a data directory.
func databaseSizes(dir string) map[string]int64 {
	sizes := map[string]int64{}
	files, _ := fs.Glob(os.DirFS(dir), "*.db*") // the pattern is good
	for _, file := range files {
		name, _, _ := strings.Cut(file, ".")
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			sizes[name] += info.Size()
		}
	}
	return sizes
}
