package web

import (
	"net/http"
	"strings"

	"minutebook/web/notice"
)

// route is a pattern of the mux and its handler.
type route struct {
	pattern string
	handler http.Handler
}

// routes returns all routes of the page. All of them know their visitor, except feeds, whose
// secret says whose they are, and those that say nothing of meetings.
func (s *server) routes() []route {
	return append(s.entryRoutes(), []route{
		{"GET /{$}", s.page(s.home)},
		{"GET /meetings/{id}", s.page(s.meeting)},
		{"GET /meetings/{id}/{file}", s.page(s.meetingFile)},
		{"GET /refine", s.page(s.refine)},
		{"GET /facet", s.page(s.facet)},
		{"GET /trends", s.page(s.trends)},
		{"GET /saved", s.page(s.saved)},
		{"POST /saved", s.page(form(s.saveSearch))},
		{"POST /saved/{id}/{change}", s.page(form(s.changeSaved))},
		{"GET /feeds/{secret}", s.compress(http.HandlerFunc(s.feed))},
		{"GET " + notice.UnsubscribePath + "{token}", s.compress(s.withoutVisitor(s.unsubscribe))},
		{"POST " + notice.UnsubscribePath + "{token}", s.compress(s.withoutVisitor(form(s.unsubscribe)))},
		{"GET /meetings/{id}/versions/{revision}", s.page(s.version)},
		{"POST /meetings/{id}/notes", s.page(form(s.changeNotes))},
		{"POST /meetings/{id}/fetch", s.page(form(s.fetch))},
		{"GET /actions", s.page(s.actions)},
		{"POST /actions/tick", s.page(form(s.tick))},
		{"GET /people", s.page(s.showPeople)},
		{"GET /people/{key...}", s.page(s.showPerson)},
		{"POST /people/merge", s.page(s.admins(form(s.mergePeople)))},
		{"POST /people/apart", s.page(s.admins(form(s.keepPeopleApart)))},
		{"POST /people/undo", s.page(s.admins(form(s.undoMerge)))},
		{"GET /calendar", s.page(s.calendar)},
		{"GET /calendar/{month}", s.page(s.month)},
		{"GET /now", s.page(s.now)},
		{"POST /now/looked", s.page(form(s.setLooked))},
		{"GET /status", s.page(s.status)},
		{"POST /status/run", s.page(s.admins(form(s.postJob)))},
		{"POST /status/replay", s.page(s.admins(form(s.postReplay)))},
		{"GET /setup", s.page(s.admins(s.showSetup))},
		{"POST /setup/account", s.page(s.admins(form(s.addAccount)))},
		{"POST /setup/webhook", s.page(s.admins(form(s.tryWebhook)))},
		{"GET /help", s.page(s.help)},
		{"GET /api/v1/search", s.data(s.apiSearch)},
		{"GET /api/v1/suggest", s.data(s.apiSuggest)},
		{"GET /api/v1/facet", s.data(s.apiFacet)},
		{"GET /api/v1/trends", s.data(s.apiTrends)},
		{"GET /api/v1/saved-searches", s.data(s.apiSaved)},
		{"POST /api/v1/saved-searches", s.data(s.apiSave)},
		{"POST /api/v1/saved-searches/{search}/{change}", s.data(s.apiChangeSaved)},
		{"GET /api/v1/meetings", s.data(s.apiMeetings)},
		{"GET /api/v1/meetings/{id}", s.data(s.apiMeeting)},
		{"GET /api/v1/meetings/{id}/moments", s.data(s.apiMoments)},
		{"GET /api/v1/meetings/{id}/transcript", s.data(s.apiTranscript)},
		{"GET /api/v1/meetings/{id}/media", s.data(s.apiMedia)},
		{"GET /api/v1/meetings/{id}/media/clip", s.visited(s.clip, s.failClip)},
		{"GET /api/v1/meetings/{id}/media/{kind}", s.stream(s.media)},
		{"GET /api/v1/meetings/{id}/outline", s.data(s.apiOutline)},
		{"GET /api/v1/meetings/{id}/revisions/{revision}/differences", s.data(s.apiDifferences)},
		{"GET /api/v1/meetings/{id}/notes", s.data(s.apiNotes)},
		{"POST /api/v1/meetings/{id}/notes", s.data(s.apiAddNote)},
		{"POST /api/v1/meetings/{id}/notes/{note}", s.data(s.apiChangeNote)},
		{"POST /api/v1/meetings/{id}/notes/{note}/delete", s.data(s.apiDeleteNote)},
		{"POST /api/v1/meetings/{id}/fetch", s.data(s.apiFetch)},
		{"GET /api/v1/meetings/{id}/revisions", s.data(s.apiRevisions)},
		{"GET /api/v1/meetings/{id}/revisions/{revision}", s.data(s.apiRevision)},
		{"GET /api/v1/people", s.data(s.apiPeople)},
		{"GET /api/v1/people/{key...}", s.data(s.apiPerson)},
		{"POST /api/v1/merges", s.data(s.admins(s.apiMerge))},
		{"POST /api/v1/merges/apart", s.data(s.admins(s.apiKeepApart))},
		{"POST /api/v1/merges/{merge}/undo", s.data(s.admins(s.apiUndoMerge))},
		{"GET /api/v1/calendar", s.data(s.apiCalendar)},
		{"GET /api/v1/now", s.data(s.apiNow)},
		{"POST /api/v1/now/looked", s.data(s.apiLooked)},
		{"GET /api/v1/filters", s.data(s.apiFilters)},
		{"GET /api/v1/action-items", s.data(s.apiActions)},
		{"POST /api/v1/action-items/tick", s.data(s.apiTick)},
		{"GET /api/v1/assignees", s.data(s.apiAssignees)},
		{"GET /api/v1/status", s.data(s.apiStatus)},
		{"GET /api/v1/status/events", s.stream(s.apiStatusEvents)},
		{"POST /api/v1/accounts/{account}/jobs/{job}", s.data(s.admins(s.apiRunJob))},
		{"POST /api/v1/deliveries/{delivery}/replay", s.data(s.admins(s.apiReplay))},
		{"GET /api/v1/changes", s.data(s.apiChanges)},
		{"GET /api/v1/me", s.data(s.apiMe)},
		{"GET /api/v1/openapi.yaml", s.data(s.apiDescription)},
		{"/api/v1/", s.data(s.apiUnknown)},
		{"/mcp", s.stream(s.assistants)}, // the archive as tools for assistants
		{"GET /static/", s.compress(s.assets)},
		{"GET /favicon.ico", http.HandlerFunc(s.favicon)},
		{"GET /metrics", s.stream(s.admins(s.showMetrics))},
		{"GET /healthz", http.HandlerFunc(s.healthz)},
		{"GET /readyz", http.HandlerFunc(s.readyz)},
		{"/", s.page(s.notFound)},
	}...)
}

// handler returns the handler of all paths. The guard wraps the pages, but not the
// service's interface, which checks credentials and sets its headers itself.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.pattern, r.handler)
	}
	guarded := s.guard(s.metrics.observe(s.forms.Handler(mux)))
	if s.Service == nil {
		return s.base.handler(guarded)
	}
	return s.base.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/external/v1/") { // no mux: it would redirect paths that are not clean
			s.Service.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	}))
}

// page makes a route of a handler of HTML pages.
func (s *server) page(h handler) http.Handler {
	return s.compress(s.visited(h, s.failPage))
}

// data makes a route of a handler of the JSON interface.
func (s *server) data(h handler) http.Handler {
	return s.compress(s.visited(h, s.failJSON))
}

// stream makes a route of a handler whose answers are not compressed.
func (s *server) stream(h handler) http.Handler { return s.visited(h, s.failJSON) }

// assistants answers /mcp for the visitor of each request.
func (s *server) assistants(w http.ResponseWriter, r *http.Request) error {
	s.mcp.ServeHTTP(w, r)
	return nil
}
