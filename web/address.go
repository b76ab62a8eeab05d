package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// meetingAddress is where a meeting stands; with at >= 0 it opens at that
// moment, with entry >= 0 it scrolls to that line of the transcript, and with a
// query the matches are marked in it.
func meetingAddress(id int64, at time.Duration, entry int, query string) string {
	address := "/meetings/" + strconv.FormatInt(id, 10)
	mark := "?"
	if at >= 0 {
		address += mark + "t=" + strconv.FormatInt(int64(at/time.Second), 10)
		mark = "&"
	}
	if query != "" {
		address += mark + "q=" + url.QueryEscape(query)
	}
	if at >= 0 && entry >= 0 {
		address += fmt.Sprintf("#e%d", entry)
	}
	return address
}

// atSecond is a moment of a meeting, seen from its page.
func atSecond(seconds int64) string { return "?t=" + strconv.FormatInt(seconds, 10) }

// recordingID reads the meeting's number from the path.
func recordingID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, &failure{http.StatusNotFound, "A meeting's address ends in its number."}
	}
	return id, nil
}

// momentAsked reads ?t=: seconds, with or without a fraction. It is -1 when
// nothing, or nothing sensible, is asked.
func momentAsked(r *http.Request) time.Duration {
	seconds, err := strconv.ParseFloat(r.URL.Query().Get("t"), 64)
	if err != nil || !(seconds >= 0) || seconds > 1e6 {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}
