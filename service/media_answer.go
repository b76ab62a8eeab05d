package service

import "net/http"

// mediaAnswer is an answer with a file whose refusals are JSON as all others.
type mediaAnswer struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader writes a refusal whole.
func (m *mediaAnswer) WriteHeader(status int) {
	text := ""
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		text = "the file has no such range"
	case http.StatusPreconditionFailed:
		text = "the file is not the one of If-Match"
	default:
		m.ResponseWriter.WriteHeader(status)
		return
	}
	m.refused = true
	writeJSON(m.ResponseWriter, status, map[string]string{"error": text})
}

// Write writes a piece of the file.
func (m *mediaAnswer) Write(p []byte) (int, error) {
	if m.refused {
		return len(p), nil
	}
	return m.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the answer underneath.
func (m *mediaAnswer) Unwrap() http.ResponseWriter { return m.ResponseWriter }
