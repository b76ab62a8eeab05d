package api

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestTimeForms(t *testing.T) {
	for in, want := range map[string]string{
		`"2025-10-15T17:31:26Z"`:      `"2025-10-15T17:31:26Z"`,
		`"2025-10-15T19:31:26+02:00"`: `"2025-10-15T17:31:26Z"`,
		`"2025-10-15T17:31:26.999Z"`:  `"2025-10-15T17:31:26Z"`,
		`"2025-10-15T17:31:26"`:       `"2025-10-15T17:31:26Z"`,
		`"2025-10-15"`:                `"2025-10-15T00:00:00Z"`,
		`null`:                        `null`,
		`""`:                          `null`,
		`"yesterday"`:                 `null`,
		`17`:                          `null`,
		`{}`:                          `null`,
		`"9999-12-31T23:59:59-01:00"`: `null`, // no year that can be written in UTC
		`"0000-01-01T00:00:00+01:00"`: `null`,
	} {
		var v Time
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got, _ := json.Marshal(v); string(got) != want {
			t.Errorf("%s is written %s, want %s", in, got, want)
		}
	}
}

func TestParseOffset(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"00:00:00":     0,
		"01:02:03":     time.Hour + 2*time.Minute + 3*time.Second,
		"101:00:59":    101*time.Hour + 59*time.Second,
		"75:10":        75*time.Minute + 10*time.Second,
		"0:0:7":        7 * time.Second,
		"00:00:01.250": 1250 * time.Millisecond,
	} {
		if got, err := ParseOffset(in); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "7", "a:b:c", "00:60:00", "00:00:60", "-1:00:00", "1:2:3:4", "00:00:01.", "00:00:01.5s", "00:00:1e3", "999999999:00:00", "::"} {
		if got, err := ParseOffset(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
	for seconds, want := range map[float64]time.Duration{1.5: 1500 * time.Millisecond, -1: 0, 1e300: 0, math.Inf(1): 0, math.NaN(): 0} {
		if got := ToOffset(seconds); got != want {
			t.Errorf("%g seconds are %v, want %v", seconds, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "00:00:00", 1999 * time.Millisecond: "00:00:01", 100 * time.Hour: "100:00:00"} {
		if got := FormatOffset(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}
