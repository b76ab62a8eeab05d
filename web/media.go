package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/internal/byterange"
)

// media serves a recording at a signed address, by ranges. It answers 403 for a
// forged address and 410 for an expired one, so that the page asks for a new one.
func (s *server) media(w http.ResponseWriter, r *http.Request) {
	sha := r.PathValue("sha")
	genuine, fresh := s.signer.check(sha, r.URL.Query(), s.Now())
	switch {
	case !genuine:
		http.Error(w, "this is not an address of a recording", http.StatusForbidden)
		return
	case !fresh:
		http.Error(w, "this address has expired; open the meeting again", http.StatusGone)
		return
	}
	file, blob, err := s.Archive.Media().Open(r.Context(), sha)
	if err != nil {
		if !errors.Is(err, archive.ErrNotFound) {
			s.Logger.Error().Err(err).Str("sha256", sha).Msg("open recording")
		}
		http.Error(w, "the recording is not on disk", http.StatusNotFound)
		return
	}
	defer file.Close()
	contentType := r.URL.Query().Get("type")
	if !isPlayable(contentType) {
		contentType = blob.ContentType
	}
	if !isPlayable(contentType) {
		contentType = "application/octet-stream"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("ETag", `"`+sha+`"`)
	h.Set("Cache-Control", "private, max-age=43200")
	http.ServeContent(w, byterange.Canonical(r, blob.Size), "", time.Time{}, file)
}

// isPlayable tells whether a content type is audio or video. With another type a
// recording could become a page of this site.
func isPlayable(contentType string) bool {
	return strings.HasPrefix(contentType, "video/") || strings.HasPrefix(contentType, "audio/")
}
