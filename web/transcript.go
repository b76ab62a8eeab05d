package web

import (
	"errors"
	"net/http"
	"sort"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/search"
)

// line is an entry of the transcript as the page shows it.
type line struct {
	archive.Entry
	End     time.Duration // when the next one begins
	Address string        // the page at this moment
	Voice   int           // the speaker's colour, 0 to 7; the rest share 8
	First   bool          // the speaker changes here
	Here    bool          // the moment that the address asks for
	Snippet []search.Span // the text with its hits, when the query matches here
}

// speaker is a voice of the meeting and its part of the talk.
type speaker struct {
	Name    string
	Voice   int
	Talked  time.Duration
	Percent int
}

// voices is how many speakers have a colour of their own.
const voices = 8

// lines makes the transcript and its speakers, who talked most first.
func lines(entries []archive.Entry, length, at time.Duration, m marker) ([]line, []speaker) {
	out := make([]line, len(entries))
	here := lineAt(entries, at)
	talked := map[string]time.Duration{}
	var total time.Duration
	for i, e := range entries {
		l := line{Entry: e, End: max(length, e.Offset), Here: i == here, Snippet: m.spans(e.Text),
			First: i == 0 || entries[i-1].Speaker != e.Speaker}
		if i+1 < len(entries) {
			l.End = max(e.Offset, entries[i+1].Offset)
		}
		l.Address = "?t=" + strconv.FormatInt(int64(e.Offset/time.Second), 10) + "#e" + strconv.Itoa(e.Index)
		took := min(l.End-e.Offset, 3*time.Minute) // a pause is nobody's talk
		talked[e.Speaker] += took
		total += took
		out[i] = l
	}
	speakers := ranked(talked, total)
	voice := map[string]int{}
	for _, s := range speakers {
		voice[s.Name] = s.Voice
	}
	for i := range out {
		out[i].Voice = voice[out[i].Speaker]
	}
	return out, speakers
}

func ranked(talked map[string]time.Duration, total time.Duration) []speaker {
	var all []speaker
	for name, took := range talked {
		all = append(all, speaker{Name: name, Talked: took})
	}
	sort.Slice(all, func(a, b int) bool {
		if all[a].Talked != all[b].Talked {
			return all[a].Talked > all[b].Talked
		}
		return all[a].Name < all[b].Name
	})
	for i := range all {
		all[i].Voice = min(i, voices)
		if total > 0 {
			all[i].Percent = int((all[i].Talked*100 + total/2) / total)
		}
	}
	return all
}

// lineAt is the position of the entry that is being said at a moment, -1 before
// the first one or when no moment is asked.
func lineAt(entries []archive.Entry, at time.Duration) int {
	if at < 0 {
		return -1
	}
	// Offsets are whole seconds: the first entry of the moment's second counts.
	i := sort.Search(len(entries), func(i int) bool { return entries[i].Offset > at }) - 1
	for i > 0 && entries[i-1].Offset == entries[i].Offset {
		i--
	}
	return i
}

// matches finds what a query finds in one meeting, to mark it there. A query
// that says nothing about this meeting, or cannot be read, marks nothing.
func (s *server) matches(r *http.Request, id int64, query string) (marker, error) {
	if query == "" {
		return marker{}, nil
	}
	only := " id:" + strconv.FormatInt(id, 10)
	request := search.Request{Query: "(" + query + ")" + only, Viewer: viewer, Limit: 1, Moments: 20}
	answer, err := s.Index.Search(r.Context(), request)
	var wrong *search.QueryError
	if errors.As(err, &wrong) { // such as sort: within parentheses
		request.Query = query + only
		answer, err = s.Index.Search(r.Context(), request)
	}
	if err != nil || len(answer.Meetings) == 0 {
		return marker{}, r.Context().Err() // the meeting is worth showing without its marks
	}
	return newMarker(answer.Meetings[0].Moments), nil
}
