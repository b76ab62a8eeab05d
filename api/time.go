package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Time is an instant of the service. It is read from RFC 3339 in any offset, with or
// without fractions, and written in the service's form, in UTC with whole seconds.
// The zero Time is a missing one and is written as null.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05Z"

// timeLayouts are the accepted forms, RFC 3339 first. Times without an offset are in
// UTC.
var timeLayouts = [...]string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02",
}

// TimeOf wraps t, converted to UTC.
func TimeOf(t time.Time) Time { return Time{t.UTC()} }

// ParseTime reads an instant as leniently as [Time] is decoded. The result is in UTC.
// It fails on an instant outside the years 0 to 9999, which could not be written
// again.
func ParseTime(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, s)
		if t = t.UTC(); err == nil && t.Year() >= 0 && t.Year() <= 9999 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("parse time %q: want the form 2025-10-15T17:31:26Z", shorten(s, 40))
}

// String returns the written form, or "" for a missing time.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// MarshalJSON writes 2006-01-02T15:04:05Z, or null for the zero Time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON never fails: a value that is not a time is a missing time.
func (t *Time) UnmarshalJSON(b []byte) error {
	*t = Time{}
	var s string
	if json.Unmarshal(b, &s) != nil || s == "" {
		return nil
	}
	if parsed, err := ParseTime(s); err == nil {
		t.Time = parsed
	}
	return nil
}

var errOffset = errors.New("want HH:MM:SS")

const maxOffsetHours = 100_000

// ParseOffset reads an offset into a recording, HH:MM:SS. MM:SS, single digits
// and a fraction of a second are read too; minutes and seconds after a larger
// unit stay below 60. The result is never negative.
func ParseOffset(s string) (time.Duration, error) {
	fields := strings.Split(strings.TrimSpace(s), ":")
	if len(fields) < 2 || len(fields) > 3 {
		return 0, offsetError(s)
	}
	last := len(fields) - 1
	integer, fraction, hasFraction := strings.Cut(fields[last], ".")
	fields[last] = integer
	var seconds int64
	for i, f := range fields {
		n, ok := parseDigits(f)
		if !ok || i > 0 && n >= 60 {
			return 0, offsetError(s)
		}
		seconds = seconds*60 + n
	}
	if seconds > maxOffsetHours*3600 {
		return 0, offsetError(s)
	}
	d := time.Duration(seconds) * time.Second
	if hasFraction {
		extra, err := time.ParseDuration("0." + fraction + "s")
		if err != nil || fraction == "" || strings.ContainsAny(fraction, "+-eE") {
			return 0, offsetError(s)
		}
		d += extra
	}
	return d, nil
}

// FormatOffset writes d as HH:MM:SS, fractions cut off; negative is 00:00:00.
func FormatOffset(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// ToOffset returns the offset that is so many seconds into a recording; 0 for numbers that
// are no offset.
func ToOffset(seconds float64) time.Duration {
	if !(seconds > 0) || seconds > maxOffsetHours*3600 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

func offsetError(s string) error {
	return fmt.Errorf("parse offset %q: %w", shorten(s, 40), errOffset)
}

func parseDigits(s string) (int64, bool) {
	if s == "" || len(s) > 9 {
		return 0, false
	}
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// shorten shortens foreign text for an error message.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
