package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"minutebook/internal/httpserver"
	"minutebook/mcp"
)

// maxRequest is the longest request, in bytes. Requests carry options, never data; the
// longest is an assistant's message, in which JSON may write a character as six.
const maxRequest = 8 * mcp.MaxMessage

// frame is one line of an answer: events first, then one result or error.
type frame struct {
	Event  json.RawMessage `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Serve answers callers on l until ctx ends. Then it cancels the running operations
// and returns when the last one has ended. It closes l.
func Serve(ctx context.Context, l net.Listener, r Caller) error {
	srv := &http.Server{ // without a time for the answer: a command may wait for its reader, such as less
		Handler:           handler(r),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	return httpserver.Serve(ctx, srv, l, httpserver.Bounds{Judged: true}, 10*time.Second)
}

func handler(r Caller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /operations/{name}", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxRequest))
		if err != nil {
			http.Error(w, "read request: "+err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		writeAnswer(req.Context(), w, r, req.PathValue("name"), body)
	})
	return mux
}

// overSocket is the key of the contexts of operations that run for another process.
type overSocket struct{}

func isOverSocket(ctx context.Context) bool { return ctx.Value(overSocket{}) != nil }

// writeAnswer runs the operation and writes its frames, each flushed as it comes.
func writeAnswer(ctx context.Context, w http.ResponseWriter, r Caller, name string, body []byte) {
	encoder := json.NewEncoder(w)
	flush := http.NewResponseController(w).Flush
	write := func(f frame) error {
		if err := encoder.Encode(f); err != nil {
			return err
		}
		httpserver.MarkUseful(ctx)
		return flush()
	}
	result, err := r.Call(context.WithValue(ctx, overSocket{}, true), name, body, func(event json.RawMessage) error {
		return write(frame{Event: event})
	})
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = asError(err)
		}
		write(frame{Error: e}) //nolint:errcheck // the caller has gone
		return
	}
	write(frame{Result: result}) //nolint:errcheck // as above
}
