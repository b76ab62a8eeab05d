package notice

import (
	"context"
	"fmt"
	"strings"
	"time"

	"minutebook/archive/notes"
	"minutebook/internal/notify"
	"minutebook/internal/phrase"
)

// Mailer sends a message to e-mail addresses.
type Mailer interface {
	SendTo(ctx context.Context, m notify.Message, to ...string) error
}

// Found are the new matches of one saved search, the earliest first.
type Found struct {
	Saved   notes.SavedSearch
	Matches []Match
}

// mostListed is how many matches of one search a mail lists.
const mostListed = 50

// SendMail sends one mail of the new matches of a person's searches, of which there is at
// least one. page is the address of the page, for links; "" leaves them out.
func SendMail(ctx context.Context, mailer Mailer, to string, found []Found, page string, now time.Time, zone *time.Location) error {
	count := 0
	var id, title string
	var text strings.Builder
	for _, f := range found {
		var ids []int64
		for _, m := range f.Matches {
			ids = append(ids, m.RecordingID)
		}
		count += len(ids)
		id = messageID(f.Saved, ids...) // that of the last search tells mails apart
		title = f.Saved.Name
		writeFound(&text, f, zone)
	}
	title = "new for “" + title + "”"
	if len(found) > 1 {
		title = fmt.Sprintf("new for %d saved searches", len(found))
	}
	text.WriteString("--\nYou asked for these mails")
	var end string
	switch token := unsubscribeToken(found[0].Saved); {
	case page == "":
		text.WriteString(" on the page of saved searches, and end them there.")
	case token == "":
		text.WriteString(" and end them at\n" + page + "/saved")
	default:
		end = page + UnsubscribePath + token
		text.WriteString(" at\n" + page + "/saved\nand end them there or, without signing in, at\n" + end)
	}
	title = fmt.Sprintf("%s %s", phrase.Count(count, "meeting", "meetings"), title)
	return mailer.SendTo(ctx, notify.Message{ID: id, Kind: notify.News, Title: phrase.Tame(title), Text: text.String(), At: now, Unsubscribe: end}, to)
}

// writeFound writes the part of a mail about one search.
func writeFound(w *strings.Builder, f Found, zone *time.Location) {
	fmt.Fprintf(w, "%s: %s\n\n", phrase.Tame(f.Saved.Name), phrase.Count(len(f.Matches), "meeting", "meetings"))
	for i, m := range f.Matches {
		if i == mostListed {
			fmt.Fprintf(w, "and %d more\n\n", len(f.Matches)-i)
			break
		}
		fmt.Fprintf(w, "%s\n", phrase.NameMeeting(m.Title, m.Start.In(zone), "2 January 2006, 15:04"))
		if m.Text != "" {
			who := ""
			if m.Speaker != "" {
				who = phrase.Tame(m.Speaker) + ": "
			}
			fmt.Fprintf(w, "  %s%s\n", who, phrase.Tame(m.Text))
		}
		if m.URL != "" {
			fmt.Fprintf(w, "  %s\n", m.URL)
		}
		w.WriteByte('\n')
	}
}
