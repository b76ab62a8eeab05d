package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"minutebook/internal/testrun"
)

// contract reads web/openapi.yaml once. For these tests its objects are closed, so that
// an answer with a field that it does not describe is an error; readers may not count on
// that.
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	const object = "\n      type: object\n      "
	closed := bytes.ReplaceAll(openAPI, []byte(object+"required"), []byte(object+"additionalProperties: false\n      required"))
	doc, err := openapi3.NewLoader().LoadFromData(closed)
	if err == nil {
		err = doc.Validate(openapi3.NewLoader().Context)
	}
	return doc, err
})

// withContract compares every answer of /api/v1 with its description, except
// recordings and events, which are streamed and no data.
func withContract(t testing.TB, h http.Handler) http.Handler {
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/v1/") || strings.Contains(r.URL.Path, "/media/") || strings.HasSuffix(r.URL.Path, "/events") {
			h.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		judge(t, doc, r, rec)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// described returns a route's pattern as the description writes it.
func described(pattern string) string { return strings.Replace(pattern, "...}", "}", 1) }

func judge(t testing.TB, doc *openapi3.T, r *http.Request, rec *httptest.ResponseRecorder) {
	method, path, _ := strings.Cut(described(r.Pattern), " ")
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		if rec.Code < 400 {
			t.Errorf("%s is answered %d, and is not described", r.URL, rec.Code)
		}
		return
	}
	operation := item.GetOperation(method)
	input := &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: operation}}
	body := decodedBody(t, rec)
	options := &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: rec.Code == http.StatusNotModified || strings.Contains(rec.Header().Get("Content-Type"), "yaml")}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: rec.Code,
		Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(body)), Options: options})
	if err != nil {
		t.Errorf("%s answered %d %s: %v", r.URL, rec.Code, body[:min(len(body), 300)], err)
	}
	described := operation.Responses.Status(rec.Code)
	if described == nil {
		described = operation.Responses.Default()
	}
	for name := range described.Value.Headers {
		if rec.Header().Get(name) == "" {
			t.Errorf("%s answered %d without %s", r.URL, rec.Code, name)
		}
	}
	if kind := rec.Header().Get("Content-Type"); rec.Code >= 400 && kind != "application/problem+json" {
		t.Errorf("%s answered %d as %q", r.URL, rec.Code, kind)
	}
}

// decodedBody returns the body that a client makes of an answer.
func decodedBody(t testing.TB, rec *httptest.ResponseRecorder) []byte {
	if rec.Header().Get("Content-Encoding") != "gzip" {
		return rec.Body.Bytes()
	}
	z, err := gzip.NewReader(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		t.Error(err)
		return nil
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Error(err)
	}
	return body
}

// TestEveryRouteOfTheInterfaceIsDescribed compares the routes with the description.
func TestEveryRouteOfTheInterfaceIsDescribed(t *testing.T) {
	testrun.SkipUnderRace(t)
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	routed := map[string]bool{}
	for _, r := range s.server.routes() {
		if strings.Contains(r.pattern, " /api/") {
			routed[described(r.pattern)] = true
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			pattern := method + " " + path
			if !routed[pattern] {
				t.Errorf("%s is described and not routed", pattern)
			}
			delete(routed, pattern)
		}
	}
	for path := range routed {
		t.Errorf("%s is routed and not described", path)
	}
	if _, body := s.get("/api/v1/openapi.yaml"); body != string(openAPI) {
		t.Error("the description that is served is another one")
	}
}

// TestAnswersAreHeldByTheirTags asks again for each answer with its ETag.
func TestAnswersAreHeldByTheirTags(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	id := itoa(s.ids[0])
	tags := map[string]string{}
	for _, address := range []string{"search?q=budget&facets=true&histogram=true", "meetings?limit=3", "meetings/" + id, "meetings/" + id + "/moments?q=the",
		"meetings/" + id + "/transcript?from=60&to=120", "meetings/" + id + "/media", "meetings/" + id + "/revisions", "people", "filters",
		"action-items?state=all&limit=2", "assignees", "status", "me", "openapi.yaml"} {
		resp, body := s.get("/api/v1/" + address)
		tag := resp.Header.Get("ETag")
		if resp.StatusCode != 200 || tag == "" || len(body) < 10 {
			t.Errorf("%s: %d %q %s", address, resp.StatusCode, tag, body)
			continue
		}
		if other := tags[tag]; other != "" {
			t.Errorf("%s has the tag of %s", address, other)
		}
		tags[tag] = address
		if resp, body := s.get("/api/v1/"+address, "If-None-Match", `"other", `+tag); resp.StatusCode != 304 || body != "" {
			t.Errorf("%s with its tag: %d, %d bytes", address, resp.StatusCode, len(body))
		}
		if resp, _ := s.get("/api/v1/"+address, "If-None-Match", `W/"other"`); resp.StatusCode != 200 {
			t.Errorf("%s with another tag: %d", address, resp.StatusCode)
		}
	}
}
