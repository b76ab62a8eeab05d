package service

import (
	"encoding/json"
	"fmt"
	"net/http"

	"minutebook/api"
	"minutebook/service/fault"
)

// getTranscript is GET /recordings/{recording_id}/transcript (4.3).
func (s *Service) getTranscript(w http.ResponseWriter, r *http.Request, c caller) error {
	return s.getContent(w, r, c, api.PartTranscript, "transcript")
}

// getSummary is GET /recordings/{recording_id}/summary (4.4).
func (s *Service) getSummary(w http.ResponseWriter, r *http.Request, c caller) error {
	return s.getContent(w, r, c, api.PartSummary, "summary")
}

// getContent answers with one part of a recording under its key, or, with a
// destination_url, sends it there. A part that does not exist is 404.
func (s *Service) getContent(w http.ResponseWriter, r *http.Request, c caller, part api.Part, key string) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	destination := r.URL.Query().Get("destination_url")
	if destination != "" {
		if err := s.checkDestination(destination); err != nil {
			return err
		}
	}
	if !s.mirror.Shows(id, c.email) {
		return notFound("recording")
	}
	parts, err := s.archive.PartsOfMany(r.Context(), []int64{id}, []api.Part{part})
	if err != nil {
		return err
	}
	raw := s.strict.Part(part, parts[id][part])
	if destination == "" {
		raw = s.deferContent(id, part, raw)
	}
	if raw == nil || destination != "" && !api.HasContent(part, raw) {
		return notFound(key)
	}
	if destination == "" {
		writeBody(w, http.StatusOK, contentBody(0, key, raw))
		return nil
	}
	named := id
	if s.faults.RollFor(fault.Bare, id) {
		named = 0
	}
	if err := s.store.queueCallback(r.Context(), callback{owner: c.email, kind: key, url: destination, recordingID: id,
		body: contentBody(named, key, raw), at: s.now()}); err != nil {
		return err
	}
	s.wakeSender()
	writeJSON(w, http.StatusOK, map[string]string{"destination_url": destination})
	return nil
}

// deferContent returns content as a read sees it, which may be early: null, an empty list
// or nil. Content that does not exist is nil.
func (s *Service) deferContent(id int64, part api.Part, raw json.RawMessage) json.RawMessage {
	switch deferred := s.faults.LateRead(id, part); {
	case deferred == fault.Null, deferred == fault.Empty && part == api.PartSummary:
		return json.RawMessage("null")
	case deferred == fault.Empty:
		return json.RawMessage("[]")
	case deferred == fault.Missing, !api.HasContent(part, raw):
		return nil
	}
	return raw
}

// contentBody returns content in the form of the answer. A body for a
// destination_url also names the recording; id 0 names none.
func contentBody(id int64, key string, raw json.RawMessage) []byte {
	body := make([]byte, 0, len(raw)+64)
	body = append(body, '{')
	if id != 0 {
		body = fmt.Appendf(body, `"recording_id":%d,`, id)
	}
	body = fmt.Appendf(body, "%q:", key)
	return append(append(body, raw...), '}')
}
