package outbound

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody brings a byte after each pause.
type slowBody struct{ pause time.Duration }

func (s slowBody) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return copy(p, "x"), nil
}

func (slowBody) Close() error { return nil }

// TestPatienceEndsWithDripsAlone reads from a slow line for a day, which goes on, also
// where the reader pauses, and then from servers that drip, which end.
func TestPatienceEndsWithDripsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := Patience{}.Body(slowBody{time.Second / 10})
		began := time.Now()
		for time.Since(began) < 24*time.Hour {
			if _, err := slow.Read(make([]byte, 1)); err != nil {
				t.Fatalf("a slow line, after %v: %v", time.Since(began), err)
			}
		}
		paused := Patience{}.Body(slowBody{time.Second / 10})
		for range 100 {
			time.Sleep(time.Hour)
			if _, err := paused.Read(make([]byte, 1)); err != nil {
				t.Fatalf("a slow reader: %v", err)
			}
		}
		for _, pause := range []time.Duration{time.Second, 5 * time.Second, 50 * time.Second} {
			began := time.Now()
			n, err := io.Copy(io.Discard, Patience{}.Body(slowBody{pause}))
			var drip *DripError
			if !errors.As(err, &drip) || drip.Bytes != n || time.Since(began) != usualTime {
				t.Errorf("a byte each %v: after %v and %d bytes: %v", pause, time.Since(began), n, err)
			}
		}
		whole := Patience{}.Body(io.NopCloser(bytes.NewReader(make([]byte, 10))))
		if got, err := io.ReadAll(whole); len(got) != 10 || err != nil {
			t.Errorf("a short body: %d bytes, %v", len(got), err)
		}
	})
}
