package service

import (
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
