package search

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash/fnv"
)

// ErrCursor is returned for a Request.After that is not an Answer.Next of the
// same query.
var ErrCursor = errors.New("this page marker belongs to another search")

// cursor is the place of the last meeting of a page in the order of the
// answer. Meetings that arrive later change no page that comes after it, but
// for the ones that rank below.
type cursor struct {
	Query  uint32  `json:"q"`           // hash of the query it belongs to
	Beyond bool    `json:"b,omitempty"` // past the meetings ranked by their moments
	Score  float64 `json:"s,omitempty"`
	Start  int64   `json:"t"`
	ID     int64   `json:"i"`
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
func (v *view) page(f *found, q *Query, r Request, after *cursor) ([]ranked, string, error) {
	byDate := q.Sort == SortDate || len(f.leaves) == 0 && q.Sort == ""
	t := v.x.tuning
	mark := cursor{Query: queryHash(q.String())}
	var list []ranked
	var err error
	if byDate {
		list = v.best(f.set, nil, r.Limit+1, passed(after))
	} else if list, mark.Beyond, err = v.pageByScore(f, r, after, t); err != nil {
		return nil, "", err
	}
	more := len(list) > r.Limit
	list = list[:min(len(list), r.Limit)]
	if mark.Beyond || byDate {
		if err := v.rankMoments(list, f.leaves, f.in, t); err != nil {
			return nil, "", err
		}
	}
	if !more {
		return list, "", nil
	}
	last := list[len(list)-1]
	mark.Score, mark.Start, mark.ID = last.score, last.start, last.id
	return list, mark.String(), nil
}

// passed says which meetings come before the cursor or are the one at it.
func passed(after *cursor) func(ranked) bool {
	if after == nil {
		return nil
	}
	last := after.last()
	return func(r ranked) bool { return !last.before(r) }
}

// pageByScore ranks the best meetings by their moments too; those beyond that
// window follow by the meetings' own scores. It returns one more than a page
// where there are more.
func (v *view) pageByScore(f *found, r Request, after *cursor, t tuning) (list []ranked, beyond bool, err error) {
	s, err := v.scoreMeetings(f.set, f.leaves, f.in.in(), t)
	if err != nil {
		return nil, false, err
	}
	window := v.best(f.set, s, t.window, nil)
	inWindow := map[int64]bool{}
	for _, w := range window {
		inWindow[w.id] = true
	}
	if after == nil || !after.Beyond {
		if err := v.rankMoments(window, f.leaves, f.in, t); err != nil {
			return nil, false, err
		}
		combine(window, t)
		skip := passed(after)
		for _, w := range window {
			if skip == nil || !skip(w) {
				list = append(list, w)
			}
		}
		if len(list) > r.Limit || len(window) < t.window {
			return list[:min(len(list), r.Limit+1)], false, nil
		}
		after = nil
	}
	skip := passed(after)
	rest := v.best(f.set, s, r.Limit+1-len(list), func(r ranked) bool { return inWindow[r.id] || skip != nil && skip(r) })
	if len(list) > 0 {
		return v.joinWindow(list, rest, r, f, t)
	}
	return rest, true, nil
}

// joinWindow ends a page that begins in the window with meetings beyond it.
func (v *view) joinWindow(list, rest []ranked, r Request, f *found, t tuning) ([]ranked, bool, error) {
	if len(list) == r.Limit {
		return append(list, rest...), false, nil
	}
	if err := v.rankMoments(rest, f.leaves, f.in, t); err != nil {
		return nil, false, err
	}
	return append(list, rest...), true, nil
}
