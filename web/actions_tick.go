package web

import (
	"errors"
	"net/http"
	"strconv"

	"minutebook/archive"
	"minutebook/web/access"
)

// tick answers POST /actions/tick: the action item with meeting, at (milliseconds) and
// text was done, or with done=no is open again. It stays a note of this archive.
func (s *server) tick(w http.ResponseWriter, r *http.Request) error {
	id, err := formNumber(r, "meeting")
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(r.PostForm.Get("at"), 10, 64)
	if err != nil {
		return &failure{http.StatusBadRequest, "This form could not be read."}
	}
	row, err := s.findItem(r, id, at, r.PostForm.Get("text"))
	if err != nil {
		return err
	}
	if r.PostForm.Get("done") == "no" {
		err = s.Notes.Untick(r.Context(), itemOf(row))
	} else {
		err = s.Notes.Tick(r.Context(), personOf(r.Context()), itemOf(row))
	}
	if err != nil {
		return err
	}
	return s.seeOther(w, r, backAddress(r, "/actions"))
}

// findItem returns an action item that the visitor sees.
func (s *server) findItem(r *http.Request, id, at int64, text string) (archive.ActionRow, error) {
	rows, err := s.Archive.ActionItems(r.Context(), archive.ActionQuery{Viewer: viewerOf(r.Context()), RecordingID: id})
	if err != nil {
		return archive.ActionRow{}, err
	}
	for _, row := range rows {
		if i := (openItem{action: action{At: row.Offset}}); row.Description == text && i.Millis() == at {
			return row, nil
		}
	}
	return archive.ActionRow{}, &failure{http.StatusNotFound, "There is no such action item in the meetings that you see."}
}

// nameOf returns the name of the person who added something, "" for the owner.
func (s *server) nameOf(r *http.Request, person int64) (string, error) {
	if person == 0 || s.Entry.People == nil {
		return "", nil
	}
	p, err := s.Entry.People.Person(r.Context(), person)
	if errors.Is(err, access.ErrNotFound) {
		return "", nil
	}
	if err != nil || p.Name != "" {
		return p.Name, err
	}
	return p.Address(), nil
}
