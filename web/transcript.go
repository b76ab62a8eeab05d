package web

import (
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
	Here    bool          // the address asks for this moment
	Snippet []search.Span // the text with its hits; nil without a match
}

// speaker is a speaker and their share of the talk.
type speaker struct {
	Name    string
	Voice   int
	Talked  time.Duration
	Percent int
}

// voices is the number of speakers with a colour of their own.
const voices = 8

// newLines returns the lines of the transcript, and the speakers by talking time.
func newLines(entries []archive.Entry, length, at time.Duration, m marker) ([]line, []speaker) {
	out := make([]line, len(entries))
	here := lineAt(entries, at)
	talkTime := map[string]time.Duration{}
	var total time.Duration
	for i, e := range entries {
		l := line{Entry: e, End: max(length, e.Offset), Here: i == here, Snippet: m.spans(e.Text),
			First: i == 0 || entries[i-1].Speaker != e.Speaker}
		if i+1 < len(entries) {
			l.End = max(e.Offset, entries[i+1].Offset)
		}
		l.Address = "?t=" + strconv.FormatInt(int64(e.Offset/time.Second), 10) + "#e" + strconv.Itoa(e.Index)
		duration := min(l.End-e.Offset, 3*time.Minute) // a long pause counts for nobody
		talkTime[e.Speaker] += duration
		total += duration
		out[i] = l
	}
	speakers := rankSpeakers(talkTime, total)
	voice := map[string]int{}
	for _, s := range speakers {
		voice[s.Name] = s.Voice
	}
	for i := range out {
		out[i].Voice = voice[out[i].Speaker]
	}
	return out, speakers
}

func rankSpeakers(talkTime map[string]time.Duration, total time.Duration) []speaker {
	var all []speaker
	for name, duration := range talkTime {
		all = append(all, speaker{Name: name, Talked: duration})
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

// lineAt returns the index of the entry at a moment. It is -1 before the first
// entry and for at < 0.
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

// findMatches returns a marker of the query's matches in a meeting. It marks nothing
// if the query does not match the meeting or does not parse.
func (s *server) findMatches(r *http.Request, id int64, query string) (marker, error) {
	if query == "" {
		return marker{}, nil
	}
	answer, err := s.searchWithin(r.Context(), id, query, 20)
	if err != nil || len(answer.Meetings) == 0 {
		return marker{}, r.Context().Err() // show the meeting without marks
	}
	return newMarker(answer.Meetings[0].Moments), nil
}
