package service

import (
	"net/http"
	"strconv"

	"minutebook/api"
)

// description serves the interface's own description.
func (s *Service) description(w http.ResponseWriter, _ *http.Request) error {
	body := api.OpenAPI()
	h := w.Header()
	h.Set("Content-Type", "application/yaml; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
	return nil
}
