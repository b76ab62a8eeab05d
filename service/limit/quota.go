package limit

import (
	"net/http"
	"strconv"
	"time"
)

// Quota is the state of one class of one caller after a call.
type Quota struct {
	Limit, Remaining int
	Reset            time.Duration // until the whole limit is free again
	Retry            time.Duration // until one call is free; 0 when one is
}

// isTighter orders quotas: a longer wait first, then fewer calls left, then the
// smaller limit.
func (q Quota) isTighter(other Quota) bool {
	if q.Retry != other.Retry {
		return q.Retry > other.Retry
	}
	if q.Remaining != other.Remaining {
		return q.Remaining < other.Remaining
	}
	return q.Limit < other.Limit
}

// WriteHeaders writes the RateLimit fields of section 8.
func (q Quota) WriteHeaders(h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(q.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(q.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(WholeSeconds(q.Reset)))
}

// WholeSeconds rounds up, so that a caller who waits as long is never early.
func WholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
