package service

import (
	"errors"
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
	// classes returns the limits that a call counts against.
	classes func(r *http.Request) []limit.Class
}

func lightClasses(*http.Request) []limit.Class { return []limit.Class{limit.Global} }
func heavyClasses(*http.Request) []limit.Class { return []limit.Class{limit.Global, limit.Heavy} }
func downloadClasses(*http.Request) []limit.Class {
	return []limit.Class{limit.Global, limit.Download}
}

// routes returns the handler of everything under BasePath.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(pattern string, methods map[string]endpoint) {
		mux.Handle(BasePath+pattern, s.withBounds(s.faults.Handler(s.apiHandler(methods), s.now)))
	}
	get := func(path string, classes func(*http.Request) []limit.Class, answer func(http.ResponseWriter, *http.Request, caller) error) {
		api(path, map[string]endpoint{http.MethodGet: {answer, classes}})
	}
	get("/meetings", meetingsClasses, s.getMeetings)
	get("/meeting_types", lightClasses, s.getMeetingTypes)
	get("/teams", lightClasses, s.getTeams)
	get("/team_members", lightClasses, s.getTeamMembers)
	get("/users", lightClasses, s.getUsers)
	get("/recordings/{recording_id}/transcript", heavyClasses, s.getTranscript)
	get("/recordings/{recording_id}/summary", heavyClasses, s.getSummary)
	get("/recordings/{recording_id}/downloads/{download_id}", lightClasses, s.getDownload)
	api("/recordings/{recording_id}/download", map[string]endpoint{http.MethodPost: {s.postDownload, downloadClasses}})
	api("/webhooks", map[string]endpoint{http.MethodPost: {s.postWebhook, lightClasses}})
	api("/webhooks/{id}", map[string]endpoint{http.MethodDelete: {s.deleteWebhook, lightClasses}})
	mux.Handle(BasePath+"/oauth2/authorize", s.withBounds(s.publicHandler(s.authorize, http.MethodGet, http.MethodPost)))
	mux.Handle(BasePath+"/oauth2/token", s.withBounds(s.publicHandler(s.token, http.MethodPost)))
	mux.Handle(BasePath+"/openapi.yaml", s.withBounds(s.publicHandler(s.description, http.MethodGet)))
	mux.Handle(BasePath+"/directory.schema.json", s.withBounds(s.publicHandler(s.directorySchema, http.MethodGet)))
	mux.HandleFunc(BasePath+"/media/{download_id}/{file}", s.media)
	unknown := s.withBounds(s.publicHandler(func(http.ResponseWriter, *http.Request) error { return notFound("path") }))
	mux.Handle("/", unknown)
	return s.withDeadlines(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.limits.Unused(limit.Global).WriteHeaders(w.Header()) // calls that are counted overwrite these
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			unknown.ServeHTTP(w, r) // the mux would send the caller to another path
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// publicHandler serves paths that need no credential, for the methods given or for
// any.
func (s *Service) publicHandler(answer func(http.ResponseWriter, *http.Request) error, methods ...string) http.Handler {
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

// apiHandler serves a path of section 4 by its method.
func (s *Service) apiHandler(methods map[string]endpoint) http.Handler {
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

// serve answers one call: it reads the caller, the caller's limits and the query in
// this order, and then calls the endpoint.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, e endpoint) error {
	if err := s.mirror.Refresh(r.Context()); err != nil {
		return err
	}
	c, err := s.authenticate(r)
	if err != nil {
		return err
	}
	taken, classes := s.now(), e.classes(r)
	q, ok := s.limits.Take(c.id, taken, classes...)
	q.WriteHeaders(w.Header())
	if !ok {
		return rateLimited(q)
	}
	if err := checkQuery(r); err != nil {
		return err
	}
	err = e.answer(w, r, c)
	var f *failure
	if errors.As(err, &f) && f.status == http.StatusTooManyRequests { // it is counted nowhere
		s.limits.GiveBack(c.id, taken, s.now(), classes...).WriteHeaders(w.Header())
	}
	return err
}

// checkQuery refuses a query of which an endpoint would drop a part: a filter that is
// dropped would show too much.
func checkQuery(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("the query could not be read")
	}
	if err := checkSpelling(query); err != nil {
		return err
	}
	if key := repeatedKey(query); key != "" {
		return badRequest("%q is given more than once", key)
	}
	return nil
}

// rateLimited is the answer to a call beyond a limit.
func rateLimited(q limit.Quota) error {
	return &failure{status: http.StatusTooManyRequests, text: "rate limit exceeded", retry: q.Retry}
}

func (s *Service) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.writeError(w, r, &failure{status: http.StatusMethodNotAllowed, text: "method not allowed"})
}

// pathID reads the recording_id of a path. It fails with 404 unless it is a plain
// number: neither +1 nor 01.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("recording_id"), 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != r.PathValue("recording_id") {
		return 0, notFound("recording")
	}
	return id, nil
}
