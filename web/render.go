package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
	"minutebook/search"
)

//go:embed templates/* templates/site/*
var templateFiles embed.FS

// pages are the parsed templates, one set a page: the layout, the partials
// (whose names begin with an underscore) and the page itself.
type pages struct{ byName map[string]*template.Template }

func loadPages(a *assets, base basePath, zone *time.Location) (*pages, error) {
	root, err := template.New("").Funcs(templateFuncs(a, base, zone)).
		ParseFS(templateFiles, "templates/layout.html", "templates/_*.html")
	if err != nil {
		return nil, fmt.Errorf("read the page's layout: %w", err)
	}
	names, err := fs.Glob(templateFiles, "templates/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	p := &pages{byName: map[string]*template.Template{}}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" {
			continue
		}
		t, err := root.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("read the template of %s: %w", name, err)
		}
		p.byName[name] = t
	}
	return p, nil
}

// frame holds the fields of the layout, which every page has.
type frame struct {
	Page     string // the template's name, also the body's class
	Title    string
	Query    string // the text in the search box
	Examples examples
	Version  string
	Indexing *indexing // set while the index is behind
	Outside  bool      // nobody is signed in: the page leads to no other
	Account  string    // whose account is signed in; "" for the owner
	Admin    bool      // the account is an admin's
	Answers  string    // the address of a page that answers a form at another one
}

// ownAddresses are the addresses of pages that answer forms at others. A browser that loads
// such an answer again would send the form again.
var ownAddresses = map[string]string{"setup": "/setup", "me": "/me", "saved": "/saved", "admin-people": "/admin/people"}

// indexing is the progress of the index.
type indexing struct {
	Indexed, Total, Percent int // 0 for who may not know
	Rebuilding              bool
}

// newFrame returns the frame of a page at this moment.
func (s *server) newFrame(r *http.Request, page, title string) frame {
	f := frame{Page: page, Title: title, Version: s.Version}
	if r.Method == http.MethodPost {
		f.Answers = ownAddresses[page]
	}
	if v := visitorOf(r.Context()); v.Person != nil {
		f.Account, f.Admin = v.Person.Address(), v.Admin
	} else if f.Outside = !v.Viewer.All && !s.Entry.isOwners(); f.Outside {
		return f
	}
	p := s.Index.Progress()
	switch isBehind := p.Total > 0 && (p.Rebuilding || p.Indexed < p.Total); {
	case isBehind && viewerOf(r.Context()).All:
		f.Indexing = &indexing{Indexed: p.Indexed, Total: p.Total,
			Percent: min(99, p.Indexed*100/p.Total), Rebuilding: p.Rebuilding}
	case p.Rebuilding && p.Total > 0:
		f.Indexing = &indexing{Rebuilding: true} // how many meetings there are is not for everybody
	}
	return f
}

// handler answers a request, or returns the error with which it is answered.
type handler func(w http.ResponseWriter, r *http.Request) error

// render writes a page; nothing is sent when its template fails.
func (s *server) render(w http.ResponseWriter, status int, name string, data any) error {
	return s.renderPart(w, status, name, "layout", data)
}

// renderPart writes the part of a page that a template of it defines.
func (s *server) renderPart(w http.ResponseWriter, status int, name, part string, data any) error {
	var buf bytes.Buffer
	if err := s.pages.byName[name].ExecuteTemplate(&buf, part, data); err != nil {
		return fmt.Errorf("write the %s page: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = buf.WriteTo(w) // the client may have disconnected
	return nil
}

// failure is an error with the status and the words for a person.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

// toFailure converts an error to a failure. An unexpected error is logged, and its
// details are not shown.
func (s *server) toFailure(r *http.Request, err error) *failure {
	var f *failure
	if entry, ok := toEntryFailure(err); ok {
		return entry
	}
	var wrong *search.QueryError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &wrong):
		return &failure{http.StatusBadRequest, sentence(wrong)}
	case errors.Is(err, archive.ErrForgotten):
		return &failure{http.StatusGone, "This meeting was forgotten on purpose, and nothing of it is kept."}
	case errors.Is(err, archive.ErrNotFound) && !viewerOf(r.Context()).All:
		return &failure{http.StatusNotFound, "There is no such meeting among those that you see. One that you saw before is not there for you any more."}
	case errors.Is(err, archive.ErrNotFound):
		return &failure{http.StatusNotFound, "There is no such meeting in this archive."}
	case errors.Is(err, search.ErrCursor):
		return &failure{http.StatusBadRequest, "This place in the results belongs to another search; begin at the first page."}
	case errors.Is(err, sqlite.ErrDiskFull):
		s.Logger.Error().Err(err).Str("path", pathOf(r)).Msg("answer request")
		return &failure{http.StatusInsufficientStorage, "There is no room on the disk of this archive: nothing was kept. Send it again when there is room."}
	case errors.Is(err, archive.ErrUnreadable):
		s.Logger.Error().Err(err).Str("path", pathOf(r)).Msg("answer request")
		return &failure{http.StatusInternalServerError, "What is kept of this meeting is damaged on the disk. minutebook verify --repair looks for other copies of it."}
	case r.Context().Err() != nil:
		return &failure{http.StatusServiceUnavailable, "The request ended before its answer was there."}
	}
	s.Logger.Error().Err(err).Str("path", pathOf(r)).Msg("answer request")
	return &failure{http.StatusInternalServerError, "Something went wrong here; the log says what."}
}

// pathOf returns the path of a request for the log: without the token of a link.
func pathOf(r *http.Request) string {
	if r.PathValue("token") != "" {
		return r.Pattern
	}
	return r.URL.Path
}

func (s *server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	if isOfNobody(err) && s.leadToSignIn(w, r) {
		return
	}
	f := s.toFailure(r, err)
	data := struct {
		frame
		Status  int
		Message string
		SignIn  bool       // in another window, after which the form can be sent again
		Unkept  url.Values // the form of a note that was not kept
	}{s.newFrame(r, "error", http.StatusText(f.status)), f.status, f.message, isOfNobody(err) && s.Entry.ProxyHeader == "", nil}
	if data.SignIn {
		data.Title = "Signed out"
	}
	isNote := strings.HasSuffix(r.URL.Path, "/notes") && parseForm(w, r) == nil && r.PostForm.Has("text")
	switch {
	case isNote && r.PostForm.Get("do") != "delete":
		data.Unkept, data.Title = r.PostForm, "Your note was not kept"
		if f.status == http.StatusNotFound { // another window deleted the note
			data.Unkept.Set("do", "add")
		}
	case isNote && f.status == http.StatusConflict:
		data.Title = "Your note was not deleted"
	}
	if err := s.render(w, f.status, "error", data); err != nil {
		s.Logger.Error().Err(err).Msg("answer request")
		http.Error(w, f.message, f.status)
	}
}

func (s *server) notFound(http.ResponseWriter, *http.Request) error {
	return &failure{http.StatusNotFound, "There is no page at this address."}
}

// help answers /help with the query language.
func (s *server) help(w http.ResponseWriter, r *http.Request) error {
	f := s.newFrame(r, "help", "How to search")
	facets, err := s.Index.Facets(r.Context(), s.searchRequest(r.Context(), ""))
	if err != nil {
		return err
	}
	f.Examples = newExamples(facets)
	return s.render(w, http.StatusOK, "help", struct{ frame }{f})
}
