package service

import (
	"net/http"
	"strconv"

	"minutebook/api"
)

// description serves the interface's own description.
func (s *Service) description(w http.ResponseWriter, _ *http.Request) error {
	return document(w, "application/yaml; charset=utf-8", api.OpenAPI())
}

// directorySchema serves the schema of a sandbox's directory file.
func (s *Service) directorySchema(w http.ResponseWriter, _ *http.Request) error {
	return document(w, "application/schema+json", DirectorySchema())
}

func document(w http.ResponseWriter, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
	return nil
}
