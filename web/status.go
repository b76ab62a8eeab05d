package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"minutebook/archive"
	"minutebook/search"
)

// statusPage is the state of the archive and of what feeds it.
type statusPage struct {
	frame
	Counts   archive.Counts
	Progress search.Progress
	Failures []archive.Failure
	Tree     []node
	Live     string
}

// toldAbove are the parts of the status that the page shows in its own form.
var toldAbove = map[string]bool{"Meetings": true, "With transcript": true, "With summary": true,
	"With recording": true, "Indexed": true, "Failures": true, "Version": true, "Running": true}

// status answers /status.
func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p := statusPage{frame: s.newFrame("status", "Status"), Progress: s.Index.Progress(), Live: s.position(r)}
	var err error
	if p.Counts, err = s.Archive.Counts(ctx); err != nil {
		return err
	}
	if p.Failures, err = s.Archive.Failures(ctx, true); err != nil {
		return err
	}
	raw, err := s.statusJSON(ctx)
	if err != nil {
		return err
	}
	tree, err := readTree(raw, s.Location)
	if err != nil {
		return err
	}
	p.Tree = slices.DeleteFunc(tree, func(n node) bool { return toldAbove[n.Label] })
	return s.render(w, http.StatusOK, "status", p)
}

// apiStatus answers what `status --json` prints.
func (s *server) apiStatus(w http.ResponseWriter, r *http.Request) error {
	raw, err := s.statusJSON(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, json.RawMessage(raw))
	return nil
}

func (s *server) statusJSON(ctx context.Context) ([]byte, error) {
	if s.Status != nil {
		v, err := s.Status(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
	c, err := s.Archive.Counts(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Meetings       int `json:"meetings"`
		WithTranscript int `json:"with_transcript"`
		WithSummary    int `json:"with_summary"`
		WithRecording  int `json:"with_recording"`
		Indexed        int `json:"indexed"`
	}{c.Meetings, c.WithTranscript, c.WithSummary, c.WithRecording, s.Index.Progress().Indexed})
}

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
