package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// meetingAddress returns the address of a meeting's page. With at >= 0 the page
// opens at that moment, with entry >= 0 it scrolls to that line of the transcript,
// and with a query it marks the matches.
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

// atSecond returns the address of a moment relative to the meeting's page.
func atSecond(seconds int64) string { return "?t=" + strconv.FormatInt(seconds, 10) }

// recordingID reads the meeting's number from the path.
func recordingID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, &failure{http.StatusNotFound, "A meeting's address ends in its number."}
	}
	return id, nil
}

// parseMoment reads ?t=: 83, 83.5, 83s, 1m23s, 1:23 or 1:02:03. It returns -1 for
// a missing or malformed time.
func parseMoment(r *http.Request) time.Duration { return parseOffset(r.URL.Query().Get("t")) }

// parseSpan reads ?t= and &end=, in the same forms. The end is -1 unless it is after the
// beginning.
func parseSpan(r *http.Request) (from, to time.Duration) {
	from, to = parseMoment(r), parseOffset(r.URL.Query().Get("end"))
	if from < 0 || to <= from {
		to = -1
	}
	return from, to
}

// parseOffset reads an offset into a recording. It returns -1 for a missing or malformed
// one.
func parseOffset(text string) time.Duration {
	const most = 1e6 * time.Second
	if at, err := time.ParseDuration(text); err == nil && at >= 0 && at <= most {
		return at
	}
	seconds := 0.0
	for _, part := range strings.SplitN(text, ":", 3) {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || !(n >= 0) {
			return -1
		}
		seconds = seconds*60 + n
	}
	if seconds > most.Seconds() {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// webAddress returns the address of an http or https link, and "" for others.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return text
}
