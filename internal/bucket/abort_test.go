package bucket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/internal/s3test"
)

// TestAStoppedUploadEnds stops an upload in parts while the server answers nothing any more:
// the library's request to end it on the server too would take a minute.
func TestAStoppedUploadEnds(t *testing.T) {
	var silent atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("partNumber") {
				silent.Store(true)
				_, _ = io.Copy(io.Discard, r.Body)
				time.AfterFunc(100*time.Millisecond, stop)
			}
			if silent.Load() {
				<-r.Context().Done()
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	b, err := Open(server.URL("recordings", "p"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = b.Put(ctx, "x", strings.NewReader("a recording of unknown length"), -1, "")
	if waited := time.Since(began); !errors.Is(err, context.Canceled) || waited > 10*abortTime {
		t.Errorf("after %v: %v", waited, err)
	}
}
