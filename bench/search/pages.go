package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/web"
)

// pages is the class of the requests of a browser to the page's own handler.
const pages = "pages"

// pageKind is a kind of page and the paths of it that are requested.
type pageKind struct {
	name  string
	paths []string
}

// measurePages requests pages from the page's handler as a browser does, one after the
// other, and prints the times until they were written: for the owner just after the start and
// once more with other words, for who sees half and for somebody who sees their own meetings
// alone.
func (h *house) measurePages(ctx context.Context) error {
	added, err := notes.Open(ctx, notes.Options{Archive: h.archive})
	if err != nil {
		return err
	}
	counts := roster.New(h.archive)
	for _, visitor := range []struct {
		name string
		seed uint64
		web.Visitor
	}{{", just opened", 13, web.Visitor{Viewer: everyone, Admin: true}}, {"", 14, web.Visitor{Viewer: everyone, Admin: true}},
		{", by who sees half", 14, web.Visitor{Viewer: half}},
		{", by who sees few", 14, web.Visitor{Viewer: archive.ViewerWith(h.sample[0].RecordedBy.Email)}}} {
		handler, err := web.New(web.Options{Archive: h.archive, Index: h.index, Notes: added, Roster: counts, Logger: logger(),
			Identify: func(*http.Request) (web.Visitor, error) { return visitor.Visitor, nil }})
		if err != nil {
			return err
		}
		for _, kind := range h.pageKinds(visitor.seed) {
			var a answered
			for i, path := range kind.paths {
				size, took, err := request(ctx, handler, path)
				if err != nil {
					return err
				}
				if i > 0 { // the first one counts people, reads templates and fills caches
					a.note(took, path, size, true)
				}
			}
			a.print(kind.name+visitor.name, nil)
		}
	}
	fmt.Println("(here the column of meetings holds the mean size of an answer in bytes)")
	return nil
}

// request requests a path and returns the size of the answer and the time it took.
// A meeting that the visitor does not see is no error.
func request(ctx context.Context, handler http.Handler, path string) (size int, took time.Duration, err error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Host = "localhost"
	r.Header.Set("Accept-Encoding", "gzip")
	rec := httptest.NewRecorder()
	begin := time.Now()
	handler.ServeHTTP(rec, r)
	took = time.Since(begin)
	if rec.Code != http.StatusOK && rec.Code != http.StatusNotFound {
		return 0, 0, fmt.Errorf("%s: %d", path, rec.Code)
	}
	return rec.Body.Len(), took, nil
}

// pageKinds draws the paths of every kind from the words of the sample.
func (h *house) pageKinds(seed uint64) []pageKind {
	rnd := rand.New(rand.NewPCG(seed, 13))
	list := []pageKind{{name: "search page"}, {name: "meeting page"}, {name: "suggestions as JSON"}, {name: "trends page, two phrases"},
		{name: "home"}, {name: "people"}, {name: "person"}, {name: "action items"}, {name: "calendar"}, {name: "month"}}
	add := func(kind int, path string, values ...string) {
		q := url.Values{}
		for i := 0; i < len(values); i += 2 {
			q.Add(values[i], values[i+1])
		}
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
		list[kind].paths = append(list[kind].paths, path)
	}
	for range h.options.queries {
		m := h.anyMeeting(rnd)
		word, phrase, other := anyWord(rnd, m), anyPhrase(rnd, m), anyPhrase(rnd, m)
		add(0, "/", "q", []string{word, word + " " + anyWord(rnd, m), `"` + phrase + `"`, fmt.Sprintf("on:%d %s", m.RecordingStartTime.Year(), word)}[rnd.IntN(4)])
		add(1, fmt.Sprintf("/meetings/%d", m.RecordingID), "q", word)
		for n := 1; n <= len(phrase); n += 2 {
			add(2, "/api/v1/suggest", "q", phrase[:n])
		}
		add(3, "/trends", "q", `"`+phrase+`"`, "q", `"`+other+`"`, "by", []string{"month", "team", "person"}[rnd.IntN(3)])
		add(4, "/")
		name := []rune(strings.ToLower(anySpeaker(rnd, m)))
		add(5, "/people", "q", string(name[:min(3, len(name))]))
		add(6, "/people/"+url.PathEscape(m.RecordedBy.Email)) // a person by an address
		add(7, "/actions")
		add(8, "/calendar", "year", fmt.Sprint(2020+rnd.IntN(6)))
		add(9, fmt.Sprintf("/calendar/%d-%02d", 2021+rnd.IntN(5), 1+rnd.IntN(12)))
	}
	return list
}
