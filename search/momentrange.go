package search

import (
	"time"

	"minutebook/archive"
)

// entryRange is a moment: the entries [From,To) of a transcript, about a minute of
// talk, cut at entries' borders.
type entryRange struct{ From, To int }

// Bounds of a moment. One long entry is a moment of its own, whatever its
// length: an entry is never cut.
const (
	momentLength = 60 * time.Second
	momentBytes  = 1600
)

// cutMoments divides a transcript into moments. Every entry is in exactly one.
func cutMoments(entries []archive.Entry) []entryRange {
	var out []entryRange
	from, bytes := 0, 0
	for i, e := range entries {
		if i > from && (e.Offset-entries[from].Offset >= momentLength || e.Offset < entries[i-1].Offset || bytes+len(e.Text) > momentBytes) {
			out = append(out, entryRange{from, i})
			from, bytes = i, 0
		}
		bytes += len(e.Text)
	}
	if from < len(entries) {
		out = append(out, entryRange{from, len(entries)})
	}
	return out
}
