// Package byterange makes http.ServeContent answer Range fields as RFC 9110 says.
// By itself ServeContent misreads units, huge numbers and empty suffixes.
package byterange

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Canonical returns the request with its Range field rewritten, so that
// http.ServeContent answers it as RFC 9110 says for a file of size bytes.
func Canonical(r *http.Request, size int64) *http.Request {
	text := r.Header.Get("Range")
	if text == "" {
		return r
	}
	r = r.Clone(r.Context())
	if r.Header.Del("Range"); rewrite(text, size) != "" {
		r.Header.Set("Range", rewrite(text, size))
	}
	return r
}

// rewrite returns a Range field that http.ServeContent reads as RFC 9110 does:
// the unit in lower case; "" for an unknown unit, so that the field is ignored;
// ends cut to the file's end; an empty suffix as a range that cannot be satisfied.
func rewrite(text string, size int64) string {
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

// clamp returns the digits, or the largest int64 when their number is larger.
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
