package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/search"
)

// metrics are the metrics of the page, and of the archive, which are read when they
// are gathered.
type metrics struct {
	handler  http.Handler
	requests *prometheus.HistogramVec
	now      func() time.Time
}

// newMetrics registers the metrics. It fails when they are registered already.
func newMetrics(o Options) (*metrics, error) {
	m := &metrics{now: o.Now, requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "minutebook_web_request_seconds",
		Help:    "How long the page's answers took, by pattern and status.",
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
	}, []string{"pattern", "status"})}
	for _, c := range []prometheus.Collector{m.requests, newArchiveCollector(o)} {
		if err := o.Registry.Register(c); err != nil {
			return nil, err
		}
	}
	m.handler = promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{})
	return m, nil
}

// showMetrics answers /metrics.
func (s *server) showMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}

// observe measures the time of the answers by pattern and status.
func (m *metrics) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, rec := m.now(), &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		pattern := strings.TrimPrefix(r.Pattern, "GET ")
		m.requests.WithLabelValues(pattern, strconv.Itoa(rec.status)).Observe(m.now().Sub(began).Seconds())
	})
}

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// archiveCollector reads the archive and the index when metrics are gathered.
type archiveCollector struct {
	archive  *archive.Archive
	index    *search.Index
	log      zerolog.Logger
	counts   *prometheus.Desc
	indexed  *prometheus.Desc
	failures *prometheus.Desc
}

func newArchiveCollector(o Options) *archiveCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("minutebook_"+name, help, labels, nil)
	}
	return &archiveCollector{archive: o.Archive, index: o.Index, log: o.Logger,
		counts:   desc("meetings", "Meetings in the archive, by the parts that are kept.", "with"),
		indexed:  desc("indexed_meetings", "Meetings that a search finds."),
		failures: desc("open_failures", "Open failures, by account and class.", "account", "class"),
	}
}

// Describe implements prometheus.Collector.
func (c *archiveCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.counts
	out <- c.indexed
	out <- c.failures
}

// Collect implements prometheus.Collector. It leaves out metrics whose reading
// fails.
func (c *archiveCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(c.indexed, c.index.Progress().Indexed)
	counts, err := c.archive.Counts(ctx)
	if err != nil {
		c.log.Error().Err(err).Msg("gather metrics")
		return
	}
	gauge(c.counts, counts.Meetings, "anything")
	gauge(c.counts, counts.WithTranscript, "transcript")
	gauge(c.counts, counts.WithSummary, "summary")
	gauge(c.counts, counts.WithRecording, "recording")
	failures, err := c.archive.Failures(ctx, true)
	if err != nil {
		c.log.Error().Err(err).Msg("gather metrics")
		return
	}
	open := map[[2]string]int{}
	for _, f := range failures {
		open[[2]string{f.Account, f.Class}]++
	}
	for key, n := range open {
		gauge(c.failures, n, key[0], key[1])
	}
}

// healthz says whether the archive can be read: 200, or 503.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := s.Archive.Written(r.Context()); err != nil {
		if r.Context().Err() == nil { // else the program stops, or who asked has left
			s.Logger.Error().Err(err).Msg("check health")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("the archive cannot be read\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// readyz says whether people and deliveries can be served: a line for the archive, the
// index and whatever else Options.Ready names; 200, or 503 when one is not ready.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	var text strings.Builder
	status := http.StatusOK
	report := func(part, problem string) {
		if problem == "" {
			problem = "ok"
		} else {
			status = http.StatusServiceUnavailable
		}
		fmt.Fprintf(&text, "%s: %s\n", part, problem)
	}
	problem := ""
	if _, err := s.Archive.Written(r.Context()); err != nil {
		if r.Context().Err() == nil { // else the program stops, or who asked has left
			s.Logger.Error().Err(err).Msg("check readiness")
		}
		problem = "cannot be read"
	}
	report("archive", problem)
	problem = ""
	switch p := s.Index.Progress(); {
	case p.Damaged:
		problem = "is damaged, and is being built anew"
	case p.Rebuilding && p.Indexed == 0 && p.Total > 0:
		problem = "is being built"
	}
	report("index", problem)
	for _, part := range slices.Sorted(maps.Keys(s.Ready)) {
		report(part, s.Ready[part]())
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text.String()))
}

// NewMonitor returns the handler of a listener for /healthz, /readyz and /metrics alone, which
// nobody has to sign in for. Hosts are checked as for the page, and proxies may ask: they
// get nothing that is not everybody's there. Its registry has the metrics that [New] has registered.
func NewMonitor(o Options) http.Handler {
	s := &server{Options: o, hosts: hostNames(&o), isMonitor: true}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	return s.guard(mux)
}
