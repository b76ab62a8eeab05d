package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"minutebook/internal/httpserver"
)

const (
	// statusInterval is how often the status is read for its events.
	statusInterval = 2 * time.Second
	// statusSilence is the longest time without a line to a reader.
	statusSilence = 15 * time.Second
	// statusStall is how long a reader may take nothing.
	statusStall = 30 * time.Second
)

// apiStatusEvents sends the status as server-sent events: at once, and again whenever it
// has changed, until the reader leaves or may not read it any more. ?events= ends it
// after so many.
func (s *server) apiStatusEvents(w http.ResponseWriter, r *http.Request) error {
	most := -1
	if text := r.URL.Query().Get("events"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return &failure{http.StatusBadRequest, "events is a number above zero"}
		}
		most = n
	}
	first, err := s.readStatus(r.Context())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	stream, end := httpserver.NewStream(r.Context(), w, httpserver.StreamBounds{Stall: statusStall}, nil)
	defer end()
	sent := encodeJSON(first)
	if writeEvent(stream, w, sent) != nil || most == 1 {
		return nil
	}
	s.followStatus(r, stream, w, sent, most-1)
	return nil
}

// followStatus writes the status each time that it is another one. A status that cannot
// be read ends the events; the browser asks again.
func (s *server) followStatus(r *http.Request, stream *httpserver.Stream, w http.ResponseWriter, sent []byte, most int) {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	for quiet := time.Duration(0); most != 0; {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		v, err := s.identify(r) // the session may have ended
		if err != nil {
			return
		}
		now, err := s.readStatus(context.WithValue(r.Context(), visitorKey{}, v))
		if err != nil {
			return
		}
		data := encodeJSON(now)
		if quiet += statusInterval; bytes.Equal(data, sent) {
			if quiet < statusSilence {
				continue
			}
			if _, err := stream.Write([]byte(":\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			quiet = 0
			continue
		}
		if writeEvent(stream, w, data) != nil {
			return
		}
		sent, quiet = data, 0
		most--
	}
}

// writeEvent writes an event with JSON that ends in a line break, and sends it off.
func writeEvent(stream *httpserver.Stream, w http.ResponseWriter, data []byte) error {
	if _, err := fmt.Fprintf(stream, "event: status\ndata: %s\n", data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
