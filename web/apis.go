package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search"
)

// failJSON answers an error as {"error": "…"} with its status.
func (s *server) failJSON(w http.ResponseWriter, r *http.Request, err error) {
	var wrong *search.QueryError
	if errors.As(err, &wrong) {
		writeJSON(w, http.StatusBadRequest, struct {
			Error    string `json:"error"`
			Position int    `json:"position"`
			Hint     string `json:"hint,omitempty"`
		}{wrong.Message, wrong.Pos, wrong.Hint})
		return
	}
	f := s.toFailure(r, err)
	writeJSON(w, f.status, map[string]string{"error": f.message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may have disconnected
}

func (s *server) apiUnknown(http.ResponseWriter, *http.Request) error {
	return &failure{http.StatusNotFound, "there is nothing at this address"}
}

// parseNumber reads a whole number between least and most from a query, or def if
// it is missing.
func parseNumber(q url.Values, key string, def, least, most int) (int, error) {
	v := q.Get(key)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, &failure{http.StatusBadRequest,
			key + " is a number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)}
	}
	return n, nil
}

// listedJSON is a meeting in the JSON list.
type listedJSON struct {
	RecordingID     int64         `json:"recording_id"`
	Title           string        `json:"title"`
	MeetingType     string        `json:"meeting_type,omitempty"`
	Start           api.Time      `json:"recording_start_time"`
	DurationSeconds int64         `json:"duration_seconds"`
	RecordedBy      *api.Recorder `json:"recorded_by,omitempty"`
	HasTranscript   bool          `json:"has_transcript"`
	HasSummary      bool          `json:"has_summary"`
	HasRecording    bool          `json:"has_recording"`
	Gone            bool          `json:"gone,omitempty"`
}

// apiMeetings lists meetings newest first: ?type, team, person, limit, cursor.
func (s *server) apiMeetings(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	list, err := listQuery(r)
	if err != nil {
		return err
	}
	limit, err := parseNumber(q, "limit", listSize, 1, 500)
	if err != nil {
		return err
	}
	list.Limit = limit + 1
	rows, err := s.Archive.List(r.Context(), list)
	if err != nil {
		return err
	}
	out := struct {
		Meetings []listedJSON `json:"meetings"`
		Next     string       `json:"next,omitempty"`
	}{Meetings: []listedJSON{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = formatCursor(rows[limit-1])
	}
	for _, row := range rows {
		out.Meetings = append(out.Meetings, s.listedJSON(row))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *server) listedJSON(row *archive.Row) listedJSON {
	m := s.newListed(row)
	return listedJSON{RecordingID: row.RecordingID, Title: meetingTitle(row), MeetingType: row.MeetingType,
		Start: api.TimeOf(m.Start), DurationSeconds: int64(m.Length / time.Second), RecordedBy: &row.RecordedBy,
		HasTranscript: row.HasTranscript, HasSummary: row.HasSummary,
		HasRecording: row.HasVideo || row.HasAudio, Gone: row.Gone}
}

// apiMeeting answers with the Meeting in the service's shape with all parts.
func (s *server) apiMeeting(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	raw, err := s.Archive.MeetingJSONFor(r.Context(), viewerOf(r.Context()), id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(raw)
	return nil
}

// apiMedia answers with fresh addresses of a meeting's recordings, for pages whose
// addresses have expired.
func (s *server) apiMedia(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	row, err := s.visibleRow(r.Context(), id)
	if err != nil {
		return err
	}
	p, err := s.newPlayer(r, row, -1)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct {
		Video string `json:"video,omitempty"`
		Audio string `json:"audio,omitempty"`
		State string `json:"state,omitempty"`
	}{p.Video, p.Audio, p.State})
	return nil
}
