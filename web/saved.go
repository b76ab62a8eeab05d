package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"minutebook/api"
	"minutebook/archive/notes"
	"minutebook/search/query"
)

// savedPage lists the visitor's saved searches. The address of a feed and the secret of
// notifications are shown once, when they are made.
type savedPage struct {
	frame
	Searches []notes.SavedSearch
	Feed     string // the address of a feed that was just made
	Secret   string // of notifications that were just asked for
	For      string // the name of the search that they are of
	Notice   string
}

// saved answers GET /saved.
func (s *server) saved(w http.ResponseWriter, r *http.Request) error {
	return s.renderSaved(w, r, http.StatusOK, savedPage{})
}

func (s *server) renderSaved(w http.ResponseWriter, r *http.Request, status int, p savedPage) error {
	var err error
	p.frame = s.newFrame(r, "saved", "Saved searches")
	if p.Searches, err = s.Notes.Saved(r.Context(), personOf(r.Context())); err != nil {
		return err
	}
	return s.render(w, status, "saved", p)
}

// saveSearch answers POST /saved: name, query.
func (s *server) saveSearch(w http.ResponseWriter, r *http.Request) error {
	text := r.PostForm.Get("query")
	if _, err := query.Parse(text); err != nil {
		return s.renderSaved(w, r, http.StatusUnprocessableEntity, savedPage{Notice: sentence(err)})
	}
	_, err := s.Notes.Save(r.Context(), personOf(r.Context()), cmp.Or(r.PostForm.Get("name"), text), text)
	if err != nil {
		return s.refuseSaved(w, r, err)
	}
	return s.seeOther(w, r, "/saved")
}

// refuseSaved shows what is wrong with a form about saved searches.
func (s *server) refuseSaved(w http.ResponseWriter, r *http.Request, err error) error {
	err = toNotesFailure(err)
	if f, ok := err.(*failure); ok && f.status == http.StatusUnprocessableEntity { //nolint:errorlint // as toNotesFailure returns it
		return s.renderSaved(w, r, f.status, savedPage{Notice: f.message})
	}
	return err
}

// changeSaved answers POST /saved/{id}/{change}.
func (s *server) changeSaved(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return s.notFound(w, r)
	}
	ctx, person := r.Context(), personOf(r.Context())
	p := savedPage{For: r.PostForm.Get("name")}
	switch r.PathValue("change") {
	case "delete":
		err = s.Notes.DeleteSaved(ctx, person, id)
	case "feed":
		var secret string
		if secret, err = s.Notes.MakeFeed(ctx, person, id); err == nil {
			p.Feed = s.publicAddress(r) + "/feeds/" + secret
		}
	case "end-feed":
		err = s.Notes.EndFeed(ctx, person, id)
	case "notify":
		address := r.PostForm.Get("address")
		if strings.HasPrefix(address, "mailto:") {
			address = "e-mail is not sent yet" // refused as no address
		}
		p.Secret, err = s.Notes.SetNotify(ctx, person, id, address)
	default:
		return s.notFound(w, r)
	}
	switch {
	case err != nil:
		return s.refuseSaved(w, r, err)
	case p.Feed != "" || p.Secret != "":
		return s.renderSaved(w, r, http.StatusOK, p)
	}
	return s.seeOther(w, r, "/saved")
}

// publicAddress returns the address of the page as the browser of a request knows it,
// with the base path.
func (s *server) publicAddress(r *http.Request) string {
	if s.Entry.PublicURL != nil {
		return s.Entry.PublicURL.String()
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// savedJSON is a saved search.
type savedJSON struct {
	ID        int64    `json:"id"`
	Name      string   `json:"name"`
	Query     string   `json:"query"`
	HasFeed   bool     `json:"has_feed"`
	Notify    string   `json:"notify,omitempty"`
	CreatedAt api.Time `json:"created_at"`
}

// apiSaved answers with the visitor's saved searches.
func (s *server) apiSaved(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Notes.Saved(r.Context(), personOf(r.Context()))
	if err != nil {
		return err
	}
	out := []savedJSON{}
	for _, one := range found {
		out = append(out, savedJSON{one.ID, one.Name, one.Query, one.HasFeed, one.Notify, api.TimeOf(one.CreatedAt)})
	}
	return answerJSON(w, r, map[string]any{"saved_searches": out})
}
