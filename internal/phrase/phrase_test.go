package phrase

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tries", 1: "1 try", 2: "2 tries"} {
		if got := Count(n, "try", "tries"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for want, got := range map[string]string{
		"Plan, 5 July":     NameMeeting("Plan\n", time.Date(2026, 7, 5, 0, 0, 0, 0, time.UTC), "2 January"),
		"Untitled, 5 July": NameMeeting(" \u202e", time.Date(2026, 7, 5, 0, 0, 0, 0, time.UTC), "2 January"),
		"Plan":             NameMeeting("Plan", time.Unix(0, 0), "2 January"),
		"Untitled":         NameMeeting("", time.Time{}, "2 January"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Meetings(1) + ", " + Recordings(int64(2)); got != "1 meeting, 2 recordings" {
		t.Errorf("%q", got)
	}
	if got := OneLine(" a\r\n\tb  c\u2028"); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := Tame("\u202egnp\u202c\r\nBcc:\x00 \x1b[31m \u2066x\u2069 سلام\u200cها"); got != "gnp Bcc: [31m x سلام\u200cها" {
		t.Errorf("%q", got)
	}
}

func TestErrorSpeaksOfFiles(t *testing.T) {
	dir := t.TempDir()
	none := dir + "/none"
	_, missing := os.Open(none)
	_, folder := os.ReadFile(dir)
	for want, err := range map[string]error{
		"open meetings: " + none + " is not there; correct the path":   fmt.Errorf("open meetings: %w", missing),
		"a folder above " + none + "/x is not there; correct the path": os.Mkdir(none+"/x", 0o700),
		dir + " is a folder, and a file is needed; correct the path":   folder,
		"no": errors.New("no"),
	} {
		if got := Error(err); got != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}
