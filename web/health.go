package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthz says whether the archive can be read: 200, or 503.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := s.Archive.Counts(r.Context()); err != nil {
		s.Logger.Error().Err(err).Msg("check health")
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
	if _, err := s.Archive.Counts(r.Context()); err != nil {
		s.Logger.Error().Err(err).Msg("check readiness")
		problem = "cannot be read"
	}
	report("archive", problem)
	problem = ""
	if p := s.Index.Progress(); p.Rebuilding && p.Indexed == 0 && p.Total > 0 {
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
// nobody has to sign in for. Hosts are checked as for the page. Its registry has the metrics that [New] has registered.
func NewMonitor(o Options) http.Handler {
	s := &server{Options: o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	return s.guard(mux)
}
