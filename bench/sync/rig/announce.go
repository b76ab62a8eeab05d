package rig

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Announced is a download that was asked for with an address to announce it to.
type Announced struct {
	RecordingID int64
	DownloadID  string
	URL         string // the destination_url
}

// Announce calls fn for every download that is asked for with a destination_url,
// before the answer goes back. The announcement itself is left to fn,
// and the service is not told of the address: its own sender knows real ones only.
func (u *Upstream) Announce(fn func(Announced)) {
	next := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/download") {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body) // of a request made in this process: it cannot fail
		var asked struct {
			URL string `json:"destination_url"`
		}
		if json.Unmarshal(body, &asked) == nil && asked.URL != "" {
			r.ContentLength, r.Body = 0, http.NoBody
		} else {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		var given struct {
			DownloadID  string `json:"download_id"`
			RecordingID int64  `json:"recording_id"`
		}
		if answer.Code == http.StatusAccepted && asked.URL != "" &&
			json.Unmarshal(answer.Body.Bytes(), &given) == nil {
			fn(Announced{RecordingID: given.RecordingID, DownloadID: given.DownloadID, URL: asked.URL})
		}
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}
