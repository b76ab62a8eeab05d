package service

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"minutebook/service/limit"
)

// endpoint is one method of one path of section 4.
type endpoint struct {
	answer func(w http.ResponseWriter, r *http.Request, c caller) error
	// classes says what a call costs beyond the global limit.
	classes func(r *http.Request) []limit.Class
}

func light(*http.Request) []limit.Class { return []limit.Class{limit.Global} }
func heavy(*http.Request) []limit.Class { return []limit.Class{limit.Global, limit.Heavy} }
func downloading(*http.Request) []limit.Class {
	return []limit.Class{limit.Global, limit.Download}
}

// routes is everything under BasePath.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(pattern string, methods map[string]endpoint) {
		mux.Handle(BasePath+pattern, s.bounded(s.faults.Handler(s.api(methods), s.now)))
	}
	get := func(path string, classes func(*http.Request) []limit.Class, answer func(http.ResponseWriter, *http.Request, caller) error) {
		api(path, map[string]endpoint{http.MethodGet: {answer, classes}})
	}
	get("/meetings", meetingsClasses, s.getMeetings)
	get("/meeting_types", light, s.getMeetingTypes)
	get("/teams", light, s.getTeams)
	get("/team_members", light, s.getTeamMembers)
	get("/users", light, s.getUsers)
	get("/recordings/{recording_id}/transcript", heavy, s.getTranscript)
	get("/recordings/{recording_id}/summary", heavy, s.getSummary)
	get("/recordings/{recording_id}/downloads/{download_id}", light, s.getDownload)
	api("/recordings/{recording_id}/download", map[string]endpoint{http.MethodPost: {s.postDownload, downloading}})
	api("/webhooks", map[string]endpoint{http.MethodPost: {s.postWebhook, light}})
	api("/webhooks/{id}", map[string]endpoint{http.MethodDelete: {s.deleteWebhook, light}})
	mux.Handle(BasePath+"/oauth2/authorize", s.bounded(s.plain(s.authorize, http.MethodGet, http.MethodPost)))
	mux.Handle(BasePath+"/oauth2/token", s.bounded(s.plain(s.token, http.MethodPost)))
	mux.Handle(BasePath+"/openapi.yaml", s.bounded(s.plain(s.description, http.MethodGet)))
	mux.Handle(BasePath+"/directory.schema.json", s.bounded(s.plain(s.directorySchema, http.MethodGet)))
	mux.HandleFunc(BasePath+"/media/{download_id}/{file}", s.media)
	unknown := s.bounded(s.plain(func(http.ResponseWriter, *http.Request) error { return notFound("path") }))
	mux.Handle("/", unknown)
	return s.timed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.limits.Unused(limit.Global).WriteHeaders(w.Header()) // what is counted writes its own over them
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			unknown.ServeHTTP(w, r) // the mux would send the caller to another path
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// plain answers what needs no credential, for the methods given or for any.
func (s *Service) plain(answer func(http.ResponseWriter, *http.Request) error, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(methods) > 0 && !slices.Contains(methods, r.Method) {
			s.refuseMethod(w, r, methods)
			return
		}
		if err := answer(w, r); err != nil {
			s.writeError(w, r, err)
		}
	})
}

// api answers a path of section 4: who calls, within their limits, then what.
func (s *Service) api(methods map[string]endpoint) http.Handler {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, ok := methods[r.Method]
		if !ok {
			s.refuseMethod(w, r, names)
			return
		}
		if err := s.serve(w, r, e); err != nil {
			s.writeError(w, r, err)
		}
	})
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request, e endpoint) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // a filter that is dropped would show too much
		return badRequest("the query could not be read")
	}
	if err := checkSpelling(query); err != nil {
		return err
	}
	if key := repeated(query); key != "" {
		return badRequest("%q is given more than once", key)
	}
	if err := s.mirror.Refresh(r.Context()); err != nil {
		return err
	}
	c, err := s.authenticate(r)
	if err != nil {
		return err
	}
	q, ok := s.limits.Take(c.id, s.now(), e.classes(r)...)
	q.WriteHeaders(w.Header())
	if !ok {
		return tooMany(q)
	}
	return e.answer(w, r, c)
}

// tooMany is the answer to a call beyond a limit.
func tooMany(q limit.Quota) error {
	return &failure{status: http.StatusTooManyRequests, text: "rate limit exceeded", retry: q.Retry}
}

func (s *Service) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.writeError(w, r, &failure{status: http.StatusMethodNotAllowed, text: "method not allowed"})
}

// pathID reads a recording_id of a path; what is no plain number names nothing.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("recording_id"), 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != r.PathValue("recording_id") { // neither +1 nor 01
		return 0, notFound("recording")
	}
	return id, nil
}
