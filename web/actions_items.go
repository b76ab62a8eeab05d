package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/web/access"
)

// openItem is an action item with its meeting, and whether and by whom it was ticked off.
type openItem struct {
	action
	RecordingID int64
	Meeting     string
	Start       time.Time // in the reader's zone; zero when it is not known
	Owner       string    // the key of the person, or roster.Nobody
	Here        bool      // it was ticked off here
	HereAt      time.Time
	HereBy      string // "" for the owner
	Back        string // where the form leads back to
}

// Millis returns the item's moment for the form, -1 where it is not known.
func (i openItem) Millis() int64 {
	if i.At < 0 {
		return -1
	}
	return i.At.Milliseconds()
}

// openItems returns the action items of a query for a list.
func (s *server) openItems(r *http.Request, view roster.View, query roster.ItemQuery) (items []openItem, more bool, err error) {
	list, err := s.Roster.Items(r.Context(), view, query)
	if err != nil {
		return nil, false, err
	}
	items, err = s.readItems(r, view, list)
	return items, list.More, err
}

// readItems reads the action items of a list, in its order.
func (s *server) readItems(r *http.Request, view roster.View, list roster.ItemList) (items []openItem, err error) {
	rows, err := s.Archive.ActionItemsAt(r.Context(), list.Keys)
	if err != nil {
		return nil, err
	}
	for _, key := range list.Keys {
		row, ok := rows[key]
		if !ok {
			continue // it has just gone
		}
		i := openItem{RecordingID: row.RecordingID, Meeting: row.Title, Start: knownIn(row.Start, s.Location), Owner: list.Owners[key], Back: r.URL.RequestURI(),
			action: action{Text: row.Description, Done: row.Completed, ByHand: row.UserGenerated, At: row.Offset, Address: meetingAddress(row.RecordingID, row.Offset, -1, "")}}
		if tick, ok := view.Ticks[itemOf(row)]; ok && !i.Done {
			i.Here, i.HereAt = true, tick.TickedAt
			if i.HereBy, err = s.nameOf(r, tick.Person); err != nil {
				return nil, err
			}
		}
		items = append(items, i)
	}
	return items, nil
}

// itemOf returns the identity of an action item.
func itemOf(row archive.ActionRow) notes.Item {
	return notes.NewItem(row.RecordingID, row.Offset, row.Description)
}

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
	return s.leadBack(w, r, id, backAddress(r, "/actions"))
}

// findItem returns an action item that the visitor sees.
func (s *server) findItem(r *http.Request, id, at int64, text string) (archive.ActionRow, error) {
	rows, err := s.Archive.ActionItems(r.Context(), archive.ActionQuery{Viewer: viewerOf(r.Context()), RecordingID: id})
	if err != nil {
		return archive.ActionRow{}, err
	}
	for _, row := range rows {
		if i := (openItem{action: action{At: row.Offset}}); asSent(row.Description) == asSent(text) && i.Millis() == at {
			return row, nil
		}
	}
	return archive.ActionRow{}, &failure{http.StatusNotFound, "There is no such action item in the meetings that you see. It may have changed meanwhile."}
}

// asSent returns a text as a browser sends it from a form: CR and LF stand at the end of
// each line, whatever stood there, and U+FFFD for NUL.
func asSent(text string) string {
	return strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n", "\x00", "\ufffd").Replace(text)
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
