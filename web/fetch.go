package web

import (
	"context"
	"net/http"

	"minutebook/web/access"
)

// errFetch is said to whoever may not have a recording fetched.
var errFetch = &failure{http.StatusForbidden, "An admin has recordings fetched again."}

// fetchRecording has a meeting's recording requested again, for admins who see the
// meeting, and reports whether there is one to request.
func (s *server) fetchRecording(ctx context.Context, id int64) (bool, error) {
	if _, err := s.visibleRow(ctx, id); err != nil {
		return false, err
	}
	if s.Fetch == nil || !visitorOf(ctx).Admin {
		return false, errFetch
	}
	if err := s.recordChange(ctx, access.RecordingRequested, access.IDs{Meeting: id}); err != nil {
		return false, err
	}
	return s.Fetch(ctx, id)
}

// fetch answers the button under the reason why there is no recording.
func (s *server) fetch(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	if _, err := s.fetchRecording(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, meetingAddress(id, -1, -1, ""), http.StatusSeeOther)
	return nil
}

// apiFetch is fetch for programs.
func (s *server) apiFetch(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	wanted, err := s.fetchRecording(r.Context(), id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct {
		Requested bool `json:"requested"`
	}{wanted})
	return nil
}
