package web

import (
	"net/http"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
)

// openItem is an action item with its meeting, and whether and by whom it was ticked off.
type openItem struct {
	action
	RecordingID int64
	Meeting     string
	Start       time.Time // in the reader's zone
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
		i := openItem{RecordingID: row.RecordingID, Meeting: row.Title, Start: row.Start.In(s.Location), Owner: list.Owners[key], Back: r.URL.RequestURI(),
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
	at := row.Offset
	if at >= 0 {
		at = at.Truncate(time.Millisecond)
	}
	return notes.Item{RecordingID: row.RecordingID, At: at, Text: row.Description}
}
