package service

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a request may hold (section 8 gives none).
const (
	maxURL  = 16 << 10 // bytes of path and query
	maxBody = 64 << 10 // bytes of a body
	// maxWait is how long a request waits for its turn when as many as
	// maxConcurrent are being answered.
	maxWait = 10 * time.Second
)

// endpoint is one method of one path of section 4.
type endpoint struct {
	answer func(w http.ResponseWriter, r *http.Request, c caller) error
	// classes says what a call costs beyond the global limit.
	classes func(r *http.Request) []limitClass
}

func light(*http.Request) []limitClass { return []limitClass{classGlobal} }
func heavy(*http.Request) []limitClass { return []limitClass{classGlobal, classHeavy} }
func downloading(*http.Request) []limitClass {
	return []limitClass{classGlobal, classDownload}
}

// routes is everything under BasePath.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(path string, methods map[string]endpoint) {
		mux.Handle(BasePath+path, s.faulty(s.api(methods)))
	}
	get := func(path string, classes func(*http.Request) []limitClass, answer func(http.ResponseWriter, *http.Request, caller) error) {
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
	mux.Handle(BasePath+"/oauth2/authorize", s.plain(s.authorize, http.MethodGet, http.MethodPost))
	mux.Handle(BasePath+"/oauth2/token", s.plain(s.token, http.MethodPost))
	mux.Handle(BasePath+"/openapi.yaml", s.plain(s.description, http.MethodGet))
	mux.Handle(BasePath+"/directory.schema.json", s.plain(s.directorySchema, http.MethodGet))
	mux.Handle(BasePath+"/media/{download_id}/{file}", s.plain(s.media, http.MethodGet, http.MethodHead))
	mux.Handle("/", s.plain(func(http.ResponseWriter, *http.Request) error { return notFound("path") }))
	return s.bounded(mux)
}

// bounded keeps the number and the size of requests within bounds, and waits
// the configured latency.
func (s *Service) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			s.limits.look(classGlobal).writeHeaders(w.Header())
			s.writeError(w, r, &failure{status: http.StatusRequestURITooLong, text: "the URL is too long"})
			return
		}
		turn := time.NewTimer(maxWait)
		defer turn.Stop()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-turn.C:
			s.limits.look(classGlobal).writeHeaders(w.Header())
			w.Header().Set("Retry-After", "1")
			s.writeError(w, r, &failure{status: http.StatusServiceUnavailable, text: "too many requests at one time"})
			return
		case <-r.Context().Done():
			return
		}
		if s.opts.Latency > 0 && sleep(r.Context(), s.opts.Latency) != nil {
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// plain answers what needs no credential, for the methods given or for any.
func (s *Service) plain(answer func(http.ResponseWriter, *http.Request) error, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(methods) > 0 && !methodIn(r.Method, methods) {
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
		s.limits.look(classGlobal).writeHeaders(w.Header())
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
	if err := s.mirror.refresh(r.Context()); err != nil {
		return err
	}
	c, err := s.authenticate(r)
	if err != nil {
		return err
	}
	q, ok := s.limits.take(c.id, s.now(), e.classes(r)...)
	q.writeHeaders(w.Header())
	if !ok {
		return tooMany(w.Header(), q)
	}
	return e.answer(w, r, c)
}

// tooMany is the answer to a call beyond a limit.
func tooMany(h http.Header, q quota) error {
	h.Set("Retry-After", strconv.Itoa(max(wholeSeconds(q.retry), 1)))
	return &failure{status: http.StatusTooManyRequests, text: "rate limit exceeded"}
}

func (s *Service) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.writeError(w, r, &failure{status: http.StatusMethodNotAllowed, text: "method not allowed"})
}

func methodIn(method string, methods []string) bool {
	for _, m := range methods {
		if m == method {
			return true
		}
	}
	return false
}

// pathID reads a recording_id of a path; what is no number names nothing.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("recording_id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, notFound("recording")
	}
	return id, nil
}
