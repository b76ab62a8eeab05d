package web

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
)

// mostNews is how many meetings a page of news shows.
const mostNews = 100

// firstNews is how far back the news begin for a person who never looked.
const firstNews = 7 * 24 * time.Hour

// nowPage lists the meetings that arrived or changed since the visitor last looked.
type nowPage struct {
	frame
	Since time.Time // when the visitor last looked, or when the news begin
	Never bool      // the visitor has not looked yet
	News  []newsItem
	Total int
	Until string // the name of the position up to which the page looked, or the first page before it
	next  string // the cursor of the next page; empty after the last one
}

// newsItem is a meeting that arrived or changed.
type newsItem struct {
	listed
	IsNew   bool
	Changes []string
}

// newsBegin returns the position and the time from which the visitor's news begin, and
// whether the visitor has never looked.
func (s *server) newsBegin(ctx context.Context) (after archive.Position, since time.Time, never bool, err error) {
	after, since, err = s.Notes.Looked(ctx, personOf(ctx))
	if err != nil {
		return after, since, false, err
	}
	head, err := s.Archive.Head(ctx)
	if err != nil {
		return after, since, false, err
	}
	if never = since.IsZero(); never {
		since = s.Now().Add(-firstNews)
	}
	if never || after.Epoch != head.Epoch { // the archive was restored since
		after, err = s.Archive.PositionAt(ctx, since)
	}
	return after, since, never, err
}

// countNews returns how many meetings are news for the visitor of a request.
func (s *server) countNews(ctx context.Context, view roster.View) (int, error) {
	after, _, _, err := s.newsBegin(ctx)
	if err != nil {
		return 0, err
	}
	_, total, _, err := s.Roster.News(ctx, view, after, 0)
	return total, err
}

// readNews returns a page of the news for the visitor of a request: the first one, or with a
// cursor the one that goes on from there, up to where the first one looked.
func (s *server) readNews(ctx context.Context, cursor string) (p nowPage, err error) {
	var last, first vantage // the last change of the page before, and where the first one looked
	if cursor != "" {
		before, until, _ := strings.Cut(cursor, ".")
		if last, err = s.findPosition(before); err != nil {
			return p, err
		}
		if first, err = s.findPosition(until); err != nil {
			return p, err
		}
	}
	after, since, never, err := s.newsBegin(ctx)
	if err != nil {
		return p, err
	}
	p.Never = never
	view, err := s.view(ctx)
	if err != nil {
		return p, err
	}
	news, total, until, err := s.Roster.News(ctx, view, after, math.MaxInt)
	if err != nil {
		return p, err
	}
	if last.Epoch == until.Epoch { // otherwise the archive was restored: the first page is shown
		until = first.Position
		news = slices.DeleteFunc(news, func(n roster.News) bool { return n.Last >= last.Seq })
	}
	p.Since, p.Total, p.Until = since.In(s.Location), total, s.places.name(vantage{Position: until})
	if len(news) > mostNews {
		news = news[:mostNews]
		last.Position = archive.Position{Epoch: until.Epoch, Seq: news[mostNews-1].Last}
		p.next = s.places.name(last) + "." + p.Until
	}
	p.News, err = s.newsItems(ctx, view.Viewer, news, after)
	return p, err
}

// newsItems reads the meetings of a viewer's news, and their changes after a position.
func (s *server) newsItems(ctx context.Context, viewer archive.Viewer, news []roster.News, after archive.Position) (items []newsItem, err error) {
	var ids []int64
	for _, n := range news {
		ids = append(ids, n.RecordingID)
	}
	rows, err := s.Archive.Rows(ctx, ids)
	if err != nil {
		return nil, err
	}
	changes, err := s.Archive.ChangesOf(ctx, ids, after)
	if err != nil {
		return nil, err
	}
	for _, n := range news {
		row := rows[n.RecordingID]
		if row == nil {
			continue // it has just been forgotten
		}
		item := newsItem{listed: s.newListed(row), IsNew: n.IsNew}
		for _, c := range changes[n.RecordingID] {
			isShown := viewer.All || c.Part != api.PartCRM
			if name := changeName(c, row); !n.IsNew && isShown && !slices.Contains(item.Changes, name) {
				item.Changes = append(item.Changes, name)
			}
		}
		items = append(items, item)
	}
	return items, nil
}

// changeName names a change in the words of the page.
func changeName(c archive.Change, row *archive.Row) string {
	switch c.Kind {
	case archive.ChangeVisibility:
		return "who sees it"
	case archive.ChangeMedia:
		return "recording"
	case archive.ChangeGone:
		if row.Gone {
			return "removed upstream"
		}
		return "back again"
	}
	switch c.Part {
	case api.PartTranscript:
		return "transcript"
	case api.PartSummary:
		return "summary"
	case api.PartActionItems:
		return "action items"
	case api.PartHighlights:
		return "highlights"
	case api.PartCRM:
		return "CRM matches"
	}
	return "details"
}

// now answers /now.
func (s *server) now(w http.ResponseWriter, r *http.Request) error {
	p, err := s.readNews(r.Context(), "")
	if err != nil {
		return err
	}
	p.frame = s.newFrame(r, "now", "What is new")
	return s.render(w, http.StatusOK, "now", p)
}

// setLooked answers POST /now/looked: the visitor has looked until the position that the
// page named.
func (s *server) setLooked(w http.ResponseWriter, r *http.Request) error {
	at, ours, err := s.places.find(r.PostForm.Get("until"))
	if err != nil {
		return err
	}
	if ours { // otherwise an earlier process named it: the page is shown again
		if err := s.Notes.SetLooked(r.Context(), personOf(r.Context()), at.Position); err != nil {
			return err
		}
	}
	return s.seeOther(w, r, "/now")
}

// apiNow answers with the meetings that arrived or changed since the visitor last looked: ?cursor.
func (s *server) apiNow(w http.ResponseWriter, r *http.Request) error {
	p, err := s.readNews(r.Context(), r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	type newsJSON struct {
		RecordingID int64    `json:"recording_id"`
		Title       string   `json:"title"`
		Start       string   `json:"recording_start_time"`
		New         bool     `json:"new"`
		Changed     []string `json:"changed"`
	}
	out := struct {
		Since time.Time  `json:"since"`
		Until string     `json:"until"`
		Total int        `json:"total"`
		News  []newsJSON `json:"meetings"`
		Next  string     `json:"next,omitempty"`
	}{p.Since.UTC().Truncate(time.Second), p.Until, p.Total, []newsJSON{}, p.next}
	for _, n := range p.News {
		out.News = append(out.News, newsJSON{n.RecordingID, n.Title, api.TimeOf(n.Row.Start).String(), n.IsNew, notNil(n.Changes)})
	}
	return answerJSON(w, r, out)
}
