package service

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// ranges writes a Range field so that http.ServeContent does with it what RFC
// 9110 says: units in any case; "" for a unit that is not known, which is
// ignored; ends beyond the file cut to it; an empty suffix is not satisfiable.
func ranges(text string, size int64) string {
	unit, list, found := strings.Cut(text, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return ""
	}
	var kept []string
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		first, last, found := strings.Cut(item, "-")
		if !found {
			return text // not a range: refused
		}
		first, last = clamp(strings.TrimSpace(first)), clamp(strings.TrimSpace(last))
		if first == "" && last == "0" {
			continue
		}
		kept = append(kept, first+"-"+last)
	}
	if len(kept) == 0 {
		return fmt.Sprintf("bytes=%d-", size) // beyond the end
	}
	return "bytes=" + strings.Join(kept, ",")
}

// clamp cuts a number of digits to what an int64 holds.
func clamp(digits string) string {
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return strconv.FormatInt(n, 10)
}

// mediaAnswer is an answer with a file whose refusals are JSON as all others.
type mediaAnswer struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader writes a refusal whole.
func (m *mediaAnswer) WriteHeader(status int) {
	text := ""
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		text = "the file has no such range"
	case http.StatusPreconditionFailed:
		text = "the file is not the one of If-Match"
	default:
		m.ResponseWriter.WriteHeader(status)
		return
	}
	m.refused = true
	writeJSON(m.ResponseWriter, status, map[string]string{"error": text})
}

// Write writes a piece of the file.
func (m *mediaAnswer) Write(p []byte) (int, error) {
	if m.refused {
		return len(p), nil
	}
	return m.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the answer underneath.
func (m *mediaAnswer) Unwrap() http.ResponseWriter { return m.ResponseWriter }
