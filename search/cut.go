package search

import (
	"time"

	"minutebook/archive"
)

// A moment is a stretch of a transcript: the entries [From,To), about a
// minute of talk, cut at entries' borders.
type stretch struct{ From, To int }

// Bounds of a moment. One long entry is a moment of its own, whatever its
// length: an entry is never cut.
const (
	momentLength = 60 * time.Second
	momentBytes  = 1600
)

// cut divides a transcript into moments. Every entry is in exactly one.
func cut(entries []archive.Entry) []stretch {
	var out []stretch
	from, bytes := 0, 0
	for i, e := range entries {
		if i > from && (e.Offset-entries[from].Offset >= momentLength || e.Offset < entries[i-1].Offset || bytes+len(e.Text) > momentBytes) {
			out = append(out, stretch{from, i})
			from, bytes = i, 0
		}
		bytes += len(e.Text)
	}
	if from < len(entries) {
		out = append(out, stretch{from, len(entries)})
	}
	return out
}
