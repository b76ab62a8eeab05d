package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/search"
)

// meetingNote is a note as the page shows it.
type meetingNote struct {
	notes.Note
	Own     bool
	Author  string // "" for the owner of an archive without sign-in
	Address string // of its moment; "" about the whole meeting
	State   string // see stateAt
}

// listNotes returns the notes on a meeting that the visitor may read.
func (s *server) listNotes(r *http.Request, id int64) ([]meetingNote, error) {
	person := personOf(r.Context())
	all, err := s.Notes.ForMeeting(r.Context(), person, id)
	if err != nil {
		return nil, err
	}
	var out []meetingNote
	for _, n := range all {
		v := meetingNote{Note: n, Own: n.Person == person, State: stateAt(n.ChangedAt)}
		if v.Author, err = s.nameOf(r, n.Person); err != nil {
			return nil, err
		}
		if n.At >= 0 {
			v.Address = meetingAddress(id, n.At, -1, "")
		}
		out = append(out, v)
	}
	return out, nil
}

// markTicks sets which action items of a meeting were done here.
func (s *server) markTicks(r *http.Request, p *meetingPage) error {
	ticks, err := s.Notes.Ticks(r.Context(), []int64{p.RecordingID})
	if err != nil {
		return err
	}
	for i, a := range p.Actions {
		_, p.Actions[i].Here = ticks[notes.Item{RecordingID: p.RecordingID, At: a.At, Text: a.Text}]
	}
	return nil
}

// changeNotes answers the forms of notes: do is add, change or delete; note is the
// changed one, at the moment of a new one.
func (s *server) changeNotes(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	form, private := r.PostForm, r.PostForm.Get("private") != ""
	if form.Get("do") == "add" {
		at := parseOffset(form.Get("at"))
		if at < 0 && form.Get("at") != "" {
			return &failure{http.StatusUnprocessableEntity, "A moment is written as 1:23, 1:02:03 or 83."}
		}
		note, err := s.Notes.Add(r.Context(), notes.Note{RecordingID: id, At: at, Text: form.Get("text"), Private: private, Person: personOf(r.Context())})
		if err != nil {
			return toNotesFailure(err)
		}
		return s.leadBack(w, r, id, meetingAddress(id, -1, -1, "")+"#note"+strconv.FormatInt(note.ID, 10))
	}
	note, err := s.ownNote(r, id, form.Get("note"))
	if err != nil {
		return err
	}
	seen := parseState(form.Get("seen"))
	switch form.Get("do") {
	case "change":
		if note.Private == private && asSent(note.Text) == asSent(strings.TrimSpace(form.Get("text"))) {
			break // it was sent before
		}
		err = s.changeNote(r.Context(), note, form.Get("text"), private, seen)
	case "delete":
		err = s.explainNote(r.Context(), note, s.Notes.Delete(r.Context(), note.Person, note.ID, seen))
	default:
		return &failure{http.StatusBadRequest, "This form could not be read."}
	}
	if err != nil {
		return toNotesFailure(err)
	}
	return s.leadBack(w, r, id, meetingAddress(id, -1, -1, "")+"#notes")
}

// changeNote changes an own note that its author has seen as it was at a time; a zero one
// stands for any.
func (s *server) changeNote(ctx context.Context, note notes.Note, text string, private bool, seen time.Time) error {
	return s.explainNote(ctx, note, s.Notes.Change(ctx, note.Person, note.ID, text, private, seen))
}

// explainNote makes a failure of the error of a change of an own note: of one that was changed
// elsewhere it says the text.
func (s *server) explainNote(ctx context.Context, note notes.Note, err error) error {
	if !errors.Is(err, notes.ErrChanged) {
		return toNotesFailure(err)
	}
	if note, err = s.Notes.Note(ctx, note.Person, note.ID); err != nil {
		return toNotesFailure(err)
	}
	return &failure{http.StatusConflict, "The note was changed in another window meanwhile. There it says: “" + note.Text + "”"}
}

// stateAt names the state of a note or saved search that a form shows, by the time of its last
// change.
func stateAt(changed time.Time) string { return strconv.FormatInt(changed.UnixMilli(), 10) }

// parseState returns the time of a stateAt, or zero for a form without one.
func parseState(state string) time.Time {
	millis, err := strconv.ParseInt(state, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}

// ownNote returns a note on a meeting that is the visitor's own, by its number.
func (s *server) ownNote(r *http.Request, id int64, number string) (notes.Note, error) {
	person := personOf(r.Context())
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		n = 0 // which no note has
	}
	note, err := s.Notes.Note(r.Context(), person, n)
	if err == nil && (note.RecordingID != id || note.Person != person) {
		return note, &failure{http.StatusNotFound, "It is not there any more: it was deleted, or is somebody else's."}
	}
	return note, toNotesFailure(err)
}

// noteJSON is a note in the interface.
type noteJSON struct {
	ID            int64     `json:"id"`
	OffsetSeconds *float64  `json:"offset_seconds,omitempty"` // nil: about the whole meeting
	Text          string    `json:"text"`
	Private       bool      `json:"private"`
	Own           bool      `json:"own"`
	Author        string    `json:"author,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	ChangedAt     time.Time `json:"changed_at"`
}

func newNoteJSON(n meetingNote) noteJSON {
	out := noteJSON{ID: n.ID, Text: n.Text, Private: n.Private, Own: n.Own, Author: n.Author, CreatedAt: n.CreatedAt.UTC(), ChangedAt: n.ChangedAt.UTC()}
	if n.At >= 0 {
		seconds := n.At.Seconds()
		out.OffsetSeconds = &seconds
	}
	return out
}

// apiNotes lists the notes on a meeting.
func (s *server) apiNotes(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	all, err := s.listNotes(r, id)
	if err != nil {
		return err
	}
	out := []noteJSON{}
	for _, n := range all {
		out = append(out, newNoteJSON(n))
	}
	return answerJSON(w, r, map[string]any{"notes": out})
}

// noteRequest is a new or changed note.
type noteRequest struct {
	OffsetSeconds *float64  `json:"offset_seconds"`
	Text          string    `json:"text"`
	Private       bool      `json:"private"`
	ChangedAt     time.Time `json:"changed_at"` // of a changed note as the program has read it; zero: whatever it is
}

// apiAddNote adds a note to a meeting.
func (s *server) apiAddNote(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	var q noteRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	n := notes.Note{RecordingID: id, At: -1, Text: q.Text, Private: q.Private, Person: personOf(r.Context())}
	if q.OffsetSeconds != nil {
		if n.At, err = checkOffset(*q.OffsetSeconds); err != nil {
			return err
		}
	}
	if n, err = s.Notes.Add(r.Context(), n); err != nil {
		return toNotesFailure(err)
	}
	return s.answerNote(w, r, n)
}

// apiChangeNote changes the text of an own note and who reads it.
func (s *server) apiChangeNote(w http.ResponseWriter, r *http.Request) error {
	note, err := s.pathNote(r)
	if err != nil {
		return err
	}
	var q noteRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	if err := s.changeNote(r.Context(), note, q.Text, q.Private, q.ChangedAt); err != nil {
		return err
	}
	if note, err = s.Notes.Note(r.Context(), note.Person, note.ID); err != nil {
		return toNotesFailure(err)
	}
	return s.answerNote(w, r, note)
}

// apiDeleteNote deletes an own note.
func (s *server) apiDeleteNote(w http.ResponseWriter, r *http.Request) error {
	note, err := s.pathNote(r)
	if err != nil {
		return err
	}
	var q struct {
		ChangedAt time.Time `json:"changed_at"` // as of a change
	}
	if r.ContentLength != 0 {
		if err := readJSON(w, r, &q); err != nil {
			return err
		}
	}
	if err := s.explainNote(r.Context(), note, s.Notes.Delete(r.Context(), note.Person, note.ID, q.ChangedAt)); err != nil {
		return err
	}
	return s.answerNote(w, r, note)
}

// pathNote returns the own note that a path names.
func (s *server) pathNote(r *http.Request) (notes.Note, error) {
	id, _, err := s.findMeetingInPath(r)
	if err != nil {
		return notes.Note{}, err
	}
	return s.ownNote(r, id, r.PathValue("note"))
}

// answerNote answers with the visitor's own note.
func (s *server) answerNote(w http.ResponseWriter, r *http.Request, n notes.Note) error {
	author, err := s.nameOf(r, n.Person)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newNoteJSON(meetingNote{Note: n, Own: true, Author: author}))
	return nil
}

// readJSON reads the bounded body of a request.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return &failure{http.StatusBadRequest, "This body could not be read: " + err.Error()}
	}
	return nil
}

// addNotes makes a search know the merged persons, and the notes that a person reads.
func (s *server) addNotes(ctx context.Context, person int64, request *search.Request) {
	request.Notes = func(ctx context.Context, only int64, add func(int64, time.Duration, string)) error {
		return s.Notes.EachText(ctx, person, only, add)
	}
	groups, err := s.Notes.Groups(ctx)
	if err != nil { // a search without them is better than none
		s.Logger.Error().Err(err).Msg("read merged persons for a search")
		return
	}
	request.SamePerson = groups.Same
}

// toNotesFailure makes a failure of an error of package notes that a person can correct.
func toNotesFailure(err error) error {
	for _, reason := range []error{notes.ErrText, notes.ErrNames, notes.ErrSearch, notes.ErrExists, notes.ErrMany, notes.ErrAddress} {
		if errors.Is(err, reason) {
			return &failure{http.StatusUnprocessableEntity, sentence(reason)}
		}
	}
	if errors.Is(err, archive.ErrNotFound) {
		return &failure{http.StatusNotFound, "It is not there any more: it was deleted, or is somebody else's."}
	}
	return err
}
