package bucket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/internal/outbound"
	"minutebook/internal/s3test"
)

// TestDrippingServersAreGivenUp lets the bodies of a server's answers come byte by byte,
// without an end, and looks that each call fails by itself and names the reason.
func TestDrippingServersAreGivenUp(t *testing.T) {
	const content = "a recording"
	server := s3test.Start(t)
	dripping := server.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.Method == http.MethodPost {
				w = &drip{w, r.Context()}
			}
			server.ServeHTTP(w, r)
		})
	})
	well, err := Open(server.URL("recordings", "p"))
	if err == nil {
		_, err = well.Put(t.Context(), "x", strings.NewReader(content), int64(len(content)), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenWith(dripping.URL("recordings", "p"), Line{Patience: outbound.Patience{Time: time.Millisecond, Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	b.PartSize = 5 << 20
	for name, call := range map[string]func(context.Context) error{
		"check": b.Check,
		"read":  func(ctx context.Context) error { _, err := b.ReadSmall(ctx, "x", 1<<10); return err },
		"sweep": func(ctx context.Context) error {
			return b.SweepUploads(ctx, time.Now(), func(string) bool { return true })
		},
		"upload in parts": func(ctx context.Context) error {
			_, err := b.Put(ctx, "y", io.LimitReader(strings.NewReader(strings.Repeat("y", 6<<20)), 6<<20), 6<<20, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for the failure of this test
			defer cancel()
			err := call(ctx)
			if drip := (*outbound.DripError)(nil); !errors.As(err, &drip) || !IsUnavailable(err) || !strings.Contains(err.Error(), "bucket recordings at 127.0.0.1") || !strings.Contains(err.Error(), "see whether the server works") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// drip is an answer whose body is a byte now and then, without an end.
type drip struct {
	http.ResponseWriter
	ctx context.Context
}

func (d *drip) WriteHeader(status int) {
	if d.Header().Get("Accept-Ranges") != "" { // an object
		d.Header().Set("Content-Length", "1000000000")
	} else {
		d.Header().Del("Content-Length")
	}
	d.ResponseWriter.WriteHeader(status)
}

func (d *drip) Write([]byte) (int, error) {
	for d.ctx.Err() == nil {
		if _, err := d.ResponseWriter.Write([]byte(" ")); err != nil {
			return 0, err
		}
		http.NewResponseController(d.ResponseWriter).Flush()
		time.Sleep(2 * time.Millisecond)
	}
	return 0, d.ctx.Err()
}
