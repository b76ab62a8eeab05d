package archive_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
)

// stalled is a bucket that answers nothing before the caller gives up.
type stalled struct{ asked chan struct{} }

func (s stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// TestNobodyWaitsForAnothersBucket has a work wait for a bucket that does not answer. Others
// that need the same lock wait no longer than their contexts allow.
func TestNobodyWaitsForAnothersBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	dir := archivetest.Dir(t)
	synctest.Test(t, func(t *testing.T) {
		server := stalled{make(chan struct{}, 1)}
		a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop(),
			MediaURL: "s3://recordings?region=here&endpoint=https://bucket.test", MediaLine: bucket.Line{Transport: server}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		sha := strings.Repeat("ab", 32)
		for len(server.asked) > 0 {
			<-server.asked
		}
		first, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := a.DropBlob(first, sha)
			ended <- err
		}()
		<-server.asked
		for name, work := range map[string]func(context.Context) error{
			"drop": func(ctx context.Context) error { _, err := a.DropBlob(ctx, sha); return err },
			"attach": func(ctx context.Context) error {
				return a.AttachMedia(ctx, 7, archive.MediaVideo, media.Blob{SHA256: sha})
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if err := work(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
				t.Errorf("%s: after %v: %v", name, time.Since(began), err)
			}
			cancel()
		}
		end()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the first work: %v", err)
		}
	})
}
