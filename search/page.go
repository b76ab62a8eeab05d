package search

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"slices"

	"minutebook/search/query"
)

// ErrCursor is returned for a Request.After that is not an Answer.Next of the
// same query.
var ErrCursor = errors.New("this page marker belongs to another search")

// cursor is where the next page begins: by date, after the last meeting of the
// one before; by relevance, with the best of those not shown yet, since scores
// change with every meeting that arrives, and the places with them. So no
// meeting comes twice, and none is left out, whatever arrives between pages.
// After mostSeen meetings the last one's score is what tells the others from
// those that were shown.
type cursor struct {
	Query uint32  `json:"q"`           // hash of the query it belongs to
	Seen  []byte  `json:"n,omitempty"` // meetings shown, see packIDs
	Score float64 `json:"s,omitempty"` // of the last one
	Start int64   `json:"t"`
	ID    int64   `json:"i"`
}

// mostSeen is how many meetings a cursor names.
const mostSeen = 1000

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

// unpackIDs reads what packIDs wrote.
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

func (c *cursor) last() ranked { return ranked{score: c.Score, start: c.Start, id: c.ID} }

// page returns the meetings of the page after a cursor, with their moments
// ranked, and the cursor of the next page.
func (v *view) page(f *found, q *query.Query, r Request, after *cursor) ([]ranked, string, error) {
	mark := cursor{Query: queryHash(q.String())}
	var list []ranked
	var err error
	byDate := q.Sort == query.SortDate || len(f.leaves) == 0 && q.Sort == ""
	seen := map[int64]bool{}
	if byDate {
		list = v.best(f.set, nil, r.Limit+1, passed(after))
	} else {
		if after != nil {
			seen = unpackIDs(after.Seen)
		}
		if list, err = v.pageByScore(f, r.Limit, shown(after, seen)); err != nil {
			return nil, "", err
		}
	}
	more := len(list) > r.Limit
	list = list[:min(len(list), r.Limit)]
	if err := v.rankUnranked(list, f); err != nil {
		return nil, "", err
	}
	if !more {
		return list, "", nil
	}
	last := list[len(list)-1]
	mark.Score, mark.Start, mark.ID = last.score, last.start, last.id
	if !byDate {
		for _, m := range list {
			if len(seen) < mostSeen {
				seen[m.id] = true
			}
		}
		mark.Seen = packIDs(seen)
	}
	return list, mark.String(), nil
}

// passed says which meetings come before the cursor or are the one at it.
func passed(after *cursor) func(ranked) bool {
	if after == nil {
		return func(ranked) bool { return false }
	}
	last := after.last()
	return func(r ranked) bool { return !last.before(r) }
}

// shown says which meetings earlier pages had.
func shown(after *cursor, seen map[int64]bool) func(ranked) bool {
	if len(seen) < mostSeen {
		return func(r ranked) bool { return seen[r.id] }
	}
	before := passed(after)
	return func(r ranked) bool { return seen[r.id] || before(r) }
}

// pageByScore ranks the best meetings by their moments too; those beyond that
// window follow by the meetings' own scores. It returns one more than a page
// where there are more. What skip says yes to is left out.
func (v *view) pageByScore(f *found, limit int, skip func(ranked) bool) ([]ranked, error) {
	t := v.x.tuning
	s, err := v.scoreMeetings(f.set, f.leaves, f.in.in(), t)
	if err != nil {
		return nil, err
	}
	window := v.best(f.set, s, t.window, nil)
	inWindow := map[int64]bool{}
	for _, w := range window {
		inWindow[w.id] = true
	}
	var list []ranked
	if slices.ContainsFunc(window, func(w ranked) bool { return !skip(w) }) {
		if err := v.rankMoments(window, f.leaves, f.in, t); err != nil {
			return nil, err
		}
		combine(window, t)
		list = slices.DeleteFunc(window, skip)
	}
	if len(list) > limit {
		return list[:limit+1], nil
	}
	rest := v.best(f.set, s, limit+1-len(list), func(r ranked) bool { return inWindow[r.id] || skip(r) })
	return append(list, rest...), nil
}

// rankUnranked ranks the moments of the meetings of a page of which that was
// not done.
func (v *view) rankUnranked(list []ranked, f *found) error {
	first := slices.IndexFunc(list, func(r ranked) bool { return !r.ranked })
	if first < 0 {
		return nil
	}
	return v.rankMoments(list[first:], f.leaves, f.in, v.x.tuning)
}
