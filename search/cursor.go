package search

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
)

// ErrCursor is returned for a Request.After that is not an Answer.Next of the
// same query.
var ErrCursor = errors.New("this page marker belongs to another search")

// cursor is where the next page begins: by date, after the last meeting of the
// page before; by relevance, with the best of those not shown yet, since scores
// change with every meeting that arrives, and the places with them. So no
// meeting comes twice, and none is left out, whatever arrives between pages.
// After maxSeen meetings the last one's score tells the others from those that
// were shown.
type cursor struct {
	Query uint32  `json:"q"`           // hash of the query it belongs to
	Seen  []byte  `json:"n,omitempty"` // meetings shown, see packIDs
	Score float64 `json:"s,omitempty"` // of the last meeting shown
	Start int64   `json:"t"`
	ID    int64   `json:"i"`
}

// maxSeen is how many meetings a cursor names.
const maxSeen = 1000

// packIDs writes numbers in their order, each as the step from the one before.
func packIDs(ids map[int64]bool) []byte {
	var out []byte
	last := int64(0)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		out = binary.AppendVarint(out, id-last)
		last = id
	}
	return out
}

// unpackIDs reads numbers that packIDs wrote.
func unpackIDs(b []byte) map[int64]bool {
	ids := map[int64]bool{}
	last := int64(0)
	for len(b) > 0 {
		step, n := binary.Varint(b)
		if n <= 0 {
			break
		}
		last += step
		ids[last] = true
		b = b[n:]
	}
	return ids
}

func queryHash(query string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(query))
	return h.Sum32()
}

// readCursor returns nil for the first page.
func readCursor(s, query string) (*cursor, error) {
	if s == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	c := &cursor{}
	if err == nil {
		err = json.Unmarshal(raw, c)
	}
	if err != nil || c.Query != queryHash(query) {
		return nil, ErrCursor
	}
	return c, nil
}

func (c cursor) String() string {
	raw, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (c *cursor) last() rankedMeeting { return rankedMeeting{score: c.Score, start: c.Start, id: c.ID} }

// skipPassed returns a function that accepts the meetings up to the cursor's, in rank.
func skipPassed(after *cursor) func(rankedMeeting) bool {
	if after == nil {
		return func(rankedMeeting) bool { return false }
	}
	last := after.last()
	return func(r rankedMeeting) bool { return !last.before(r) }
}

// skipShown returns a function that accepts the meetings that earlier pages had.
func skipShown(after *cursor, seen map[int64]bool) func(rankedMeeting) bool {
	if len(seen) < maxSeen {
		return func(r rankedMeeting) bool { return seen[r.id] }
	}
	before := skipPassed(after)
	return func(r rankedMeeting) bool { return seen[r.id] || before(r) }
}
