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
// When it names as many meetings as the tuning says, all others follow by date.
// A loosened query goes on as it was loosened first: a meeting that has more of the
// words would else end the answer.
type cursor struct {
	Query uint32 `json:"h"`           // hash of the query it belongs to
	Seen  []byte `json:"n,omitempty"` // meetings shown by relevance, see packIDs
	Start int64  `json:"t"`           // of the last meeting shown by date, in Unix milliseconds
	ID    int64  `json:"i"`

	Least *loosening `json:"l,omitempty"` // nil where the query was not loosened
}

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

// skipPassed returns a function that accepts the meetings up to the cursor's, by date, and those
// that were shown before.
func skipPassed(after *cursor, seen map[int64]bool) func(rankedMeeting) bool {
	if after == nil {
		return func(rankedMeeting) bool { return false }
	}
	last := rankedMeeting{start: after.Start, id: after.ID}
	return func(r rankedMeeting) bool { return seen[r.id] || !last.before(r) }
}
