package web

import (
	"net/http"

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

// NewMonitor returns the handler of a listener for /healthz and /metrics alone, which
// nobody has to sign in for. Hosts are checked as for the page. Its registry has the metrics that [New] has registered.
func NewMonitor(o Options) http.Handler {
	s := &server{Options: o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	return s.guard(mux)
}
