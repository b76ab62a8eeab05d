package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/archive/notes"
)

// apiTick marks an action item as done here, or as open again.
func (s *server) apiTick(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		RecordingID   int64    `json:"recording_id"`
		OffsetSeconds *float64 `json:"offset_seconds"`
		Description   string   `json:"description"`
		Done          bool     `json:"done"`
	}
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	at := int64(-1)
	if q.OffsetSeconds != nil {
		offset, err := checkOffset(*q.OffsetSeconds)
		if err != nil {
			return err
		}
		at = offset.Milliseconds()
	}
	row, err := s.findItem(r, q.RecordingID, at, q.Description)
	if err != nil {
		return err
	}
	if q.Done {
		err = s.Notes.Tick(r.Context(), personOf(r.Context()), itemOf(row))
	} else {
		err = s.Notes.Untick(r.Context(), itemOf(row))
	}
	if err != nil {
		return toNotesFailure(err)
	}
	return answerJSON(w, r, q)
}

// checkOffset converts seconds into a recording.
func checkOffset(seconds float64) (time.Duration, error) {
	if !(seconds >= 0 && seconds <= mostSeconds) {
		return 0, &failure{http.StatusBadRequest, "offset_seconds is a number from 0 to " + strconv.Itoa(mostSeconds)}
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond), nil
}

// peopleJSON are two people, by name, address or key.
type peopleJSON struct {
	Keep  string `json:"keep"`
	Other string `json:"other"`
}

// apiMerge makes one person of two, and apiKeepApart says that they are not one.
func (s *server) apiMerge(w http.ResponseWriter, r *http.Request) error {
	return s.judgePeople(w, r, true)
}
func (s *server) apiKeepApart(w http.ResponseWriter, r *http.Request) error {
	return s.judgePeople(w, r, false)
}

func (s *server) judgePeople(w http.ResponseWriter, r *http.Request, same bool) error {
	var q peopleJSON
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	keep, other, err := s.twoPeople(r, q.Keep, q.Other)
	if err != nil {
		return err
	}
	var judgement notes.Judgement
	if same {
		judgement, err = s.Notes.Merge(r.Context(), personOf(r.Context()), keep, other)
	} else {
		judgement, err = s.Notes.KeepApart(r.Context(), personOf(r.Context()), keep, other)
	}
	if err != nil {
		return toNotesFailure(err)
	}
	return answerJSON(w, r, struct {
		ID int64 `json:"id"`
		peopleJSON
	}{judgement.ID, peopleJSON{keep, other}})
}

// apiUndoMerge takes back that two people are one, or that they are not.
func (s *server) apiUndoMerge(w http.ResponseWriter, r *http.Request) error {
	id, err := pathNumber(r, "merge")
	if err != nil {
		return err
	}
	if err := s.Notes.Undo(r.Context(), id); err != nil {
		return toNotesFailure(err)
	}
	return answerJSON(w, r, map[string]int64{"id": id})
}

// pathNumber reads a number of a path.
func pathNumber(r *http.Request, name string) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0, &failure{http.StatusNotFound, "There is no such " + name + "."}
	}
	return id, nil
}

// apiLooked notes that the visitor has looked at the news until a position.
func (s *server) apiLooked(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Until string `json:"until"`
	}
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	at, err := s.findPosition(q.Until)
	if err != nil {
		return err
	}
	if err := s.Notes.SetLooked(r.Context(), personOf(r.Context()), at.Position); err != nil {
		return err
	}
	return answerJSON(w, r, q)
}

// findPosition returns the place in the news that an answer named.
func (s *server) findPosition(name string) (vantage, error) {
	at, ours, err := s.places.find(name)
	if err == nil && !ours {
		err = &failure{http.StatusConflict, "This position was named before a restart: read the news again."}
	}
	return at, err
}

// savedJSON is a saved search.
type savedJSON struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Query     string    `json:"query"`
	HasFeed   bool      `json:"has_feed"`
	Notify    string    `json:"notify,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ChangedAt time.Time `json:"changed_at"`       // to the millisecond: it comes back in a savedRequest
	Feed      string    `json:"feed,omitempty"`   // the address of a feed that was just made
	Secret    string    `json:"secret,omitempty"` // of webhooks that were just asked for
}

func newSavedJSON(s notes.SavedSearch) savedJSON {
	return savedJSON{ID: s.ID, Name: s.Name, Query: s.Query, HasFeed: s.HasFeed, Notify: s.Notify, CreatedAt: s.CreatedAt.UTC(), ChangedAt: s.ChangedAt.UTC()}
}

// apiSaved answers with the visitor's saved searches.
func (s *server) apiSaved(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Notes.Saved(r.Context(), personOf(r.Context()))
	if err != nil {
		return err
	}
	out := []savedJSON{}
	for _, each := range found {
		out = append(out, newSavedJSON(each))
	}
	return answerJSON(w, r, map[string]any{"saved_searches": out})
}

// savedRequest is the body of a change of a saved search.
type savedRequest struct {
	Name      string    `json:"name"`
	Query     string    `json:"query"`
	Address   string    `json:"address"`    // of notifications
	ChangedAt time.Time `json:"changed_at"` // of the search as the program has read it; zero: whatever it is
}

// apiSave saves a search.
func (s *server) apiSave(w http.ResponseWriter, r *http.Request) error {
	var q savedRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	saved, err := s.save(r.Context(), q.Name, q.Query)
	if err != nil {
		return err
	}
	return answerJSON(w, r, newSavedJSON(saved))
}

// apiChangeSaved makes one of the changes of changeOfSaved and answers with the search,
// as it was where it is deleted.
func (s *server) apiChangeSaved(w http.ResponseWriter, r *http.Request) error {
	id, err := pathNumber(r, "search")
	if err != nil {
		return err
	}
	var q savedRequest
	if r.ContentLength != 0 {
		if err := readJSON(w, r, &q); err != nil {
			return err
		}
	}
	before, err := s.Notes.SavedByID(r.Context(), personOf(r.Context()), id)
	if err != nil {
		return toNotesFailure(err)
	}
	change := r.PathValue("change")
	feed, secret, err := s.changeOfSaved(r, id, change, q)
	if errors.Is(err, notes.ErrChanged) {
		return &failure{http.StatusConflict, "The search was changed in another window meanwhile. There it says: “" + before.State() + "”"}
	}
	if err != nil {
		return toNotesFailure(err)
	}
	after := before
	if change != "delete" {
		if after, err = s.Notes.SavedByID(r.Context(), personOf(r.Context()), id); err != nil {
			return toNotesFailure(err)
		}
	}
	out := newSavedJSON(after)
	out.Feed, out.Secret = feed, secret
	return answerJSON(w, r, out)
}
