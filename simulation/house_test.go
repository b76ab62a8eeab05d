package simulation

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/search"
	"minutebook/service"
	"minutebook/web"
)

// site is a web server whose handler is the service of the present draw, or its page while
// an assistant asks.
type site struct {
	url     string
	handler atomic.Pointer[http.Handler]
}

func newSite(t *testing.T) *site {
	s := &site{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// house is an archive and the rooms above it.
type house struct {
	dir     string
	site    *site
	archive *archive.Archive
	index   *search.Index
	notes   *notes.DB
	service *service.Service
	page    *web.Handler
	door    *door // nil but in draws
	roster  *roster.Roster
	video   media.Blob
	keys    map[string]string
}

// newTemplate makes an empty archive, which each draw begins with a copy of.
func newTemplate(t *testing.T) string {
	h := &house{dir: t.TempDir(), site: &site{}}
	err := h.open(t.Context())
	if err == nil {
		err = h.openDoor(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h.close(t)
	return h.dir
}

const film = "a film"

func openHouse(t *rapid.T, ctx context.Context, s *site, template string) *house {
	dir, err := os.MkdirTemp("", "minutebook")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(template))
	}
	h := &house{dir: dir, site: s, keys: map[string]string{}}
	if err == nil {
		err = h.open(ctx)
	}
	if err == nil {
		err = h.openDoor(ctx)
	}
	if err == nil {
		h.video, err = h.archive.Media().Put(ctx, strings.NewReader(film))
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) open(ctx context.Context) (err error) {
	h.archive, err = archive.Open(ctx, archive.Options{Dir: h.dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	h.index, err = search.Open(ctx, search.Options{Archive: h.archive, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		return err
	}
	h.service, err = service.New(ctx, service.Options{Archive: h.archive, Logger: zerolog.Nop(), PublicURL: h.site.url})
	if err != nil {
		return err
	}
	h.roster = roster.New(h.archive)
	if h.notes, err = notes.Open(ctx, notes.Options{Archive: h.archive}); err != nil {
		return err
	}
	h.page, err = web.New(web.Options{Archive: h.archive, Index: h.index, Notes: h.notes, Logger: zerolog.Nop(), Identify: identify, Status: sampleStatus, Location: time.UTC})
	if err != nil {
		return err
	}
	handler := h.service.Handler()
	h.site.handler.Store(&handler)
	return h.service.SetLimits(ctx, service.Limits{Global: 100_000, Heavy: 100_000, DownloadLimit: 100_000})
}

// close ends the house of a draw and removes it; the template stays.
func (h *house) close(t interface{ Error(...any) }) {
	if err := h.index.Close(); err != nil {
		t.Error(err)
	}
	if err := h.archive.Close(); err != nil {
		t.Error(err)
	}
	if h.keys != nil {
		os.RemoveAll(h.dir)
	}
}
