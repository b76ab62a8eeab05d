package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// revisionJSON is a version of a part, without its value.
type revisionJSON struct {
	ID      int64      `json:"id"`
	Part    api.Part   `json:"part"`
	Size    int        `json:"size"`
	Empty   bool       `json:"empty"`
	Current bool       `json:"current"`
	First   time.Time  `json:"first_seen"`
	Last    time.Time  `json:"last_seen"`
	Seen    []seenJSON `json:"seen"`
}

type seenJSON struct {
	Account string         `json:"account,omitempty"`
	Source  archive.Source `json:"source"`
	First   time.Time      `json:"first"`
	Last    time.Time      `json:"last"`
}

// apiRevisions lists the versions of a meeting's parts.
func (s *server) apiRevisions(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	if _, err := s.openMeeting(r, id); err != nil {
		return err
	}
	all, err := s.visibleRevisions(r.Context(), id)
	if err != nil {
		return err
	}
	out := []revisionJSON{}
	for _, v := range all {
		j := revisionJSON{ID: v.ID, Part: v.Part, Size: v.Size, Empty: v.Empty, Current: v.Current, First: v.First, Last: v.Last, Seen: []seenJSON{}}
		for _, seen := range v.Seen {
			j.Seen = append(j.Seen, seenJSON(seen))
		}
		out = append(out, j)
	}
	return answerJSON(w, r, map[string]any{"revisions": out})
}

// apiRevision answers with a version of a part, verbatim.
func (s *server) apiRevision(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	if _, err := s.openMeeting(r, id); err != nil {
		return err
	}
	number, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil {
		return errNoRevision
	}
	part, raw, err := s.Archive.RevisionJSON(r.Context(), id, number)
	switch {
	case errors.Is(err, archive.ErrNotFound), err == nil && part == api.PartCRM && !viewerOf(r.Context()).All:
		return errNoRevision
	case err != nil:
		return err
	}
	return answerJSON(w, r, struct {
		Part  api.Part        `json:"part"`
		Value json.RawMessage `json:"value"`
	}{part, raw})
}

var errNoRevision = &failure{http.StatusNotFound, "There is no such version of this meeting."}
