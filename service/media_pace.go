package service

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds of the media being sent at one time.
const (
	maxStreams       = 128 // in all
	maxStreamsByEach = 16  // of the downloads of one credential
	// slowest, in bytes a second, is how slowly a reader may read once graceTime
	// has passed.
	graceTime = time.Minute
	slowest   = 16 << 10
)

// streams counts the media being sent, by the credential that asked for it.
type streams struct {
	mu  sync.Mutex // guards all below
	all int
	by  map[string]int
}

// begin makes room for one more; release gives it back. It fails with the
// answer for who has to come again.
func (s *streams) begin(credential string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[credential] >= maxStreamsByEach {
		return nil, &failure{status: http.StatusTooManyRequests, text: "too many media requests at one time", retry: time.Second}
	}
	if s.all >= maxStreams {
		return nil, &failure{status: http.StatusServiceUnavailable, text: "too many media requests at one time"}
	}
	s.all++
	s.by[credential]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.by[credential]--; s.by[credential] == 0 {
			delete(s.by, credential)
		}
	}, nil
}

// pacedWriter is an answer whose reader has to keep reading, and to keep the right to
// the recording.
// It goes by the time of the machine, as the connection does.
type pacedWriter struct {
	http.ResponseWriter
	ctx      context.Context // ends when the recording is forgotten
	timeouts timeouts
	may      func() error // fails when the reader has lost the right
	began    time.Time
	judged   time.Time // when may last succeeded; zero before the first Write
	written  int64
}

var errSlow = errors.New("the media is read too slowly")

// Write fails when the reader takes nothing for the time of stall, is behind
// slowest, or has lost the right to the recording.
func (p *pacedWriter) Write(b []byte) (int, error) {
	now := time.Now()
	if now.Sub(p.began) > graceTime+time.Duration(p.written/slowest)*time.Second {
		return 0, errSlow
	}
	if now.Sub(p.judged) >= p.timeouts.judge {
		if err := p.may(); err != nil {
			return 0, err
		}
		p.judged = now
	}
	_ = p.until(now.Add(p.timeouts.stall)) // not in tests without a connection
	if err := p.ctx.Err(); err != nil {    // after the deadline, which interrupt sets to now
		return 0, err
	}
	n, err := p.ResponseWriter.Write(b)
	p.written += int64(n)
	return n, err
}

// interrupt lets a Write that waits for its reader fail at once.
func (p *pacedWriter) interrupt() { _ = p.until(time.Now()) }

func (p *pacedWriter) until(at time.Time) error {
	return http.NewResponseController(p.ResponseWriter).SetWriteDeadline(at)
}
