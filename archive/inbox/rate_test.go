package inbox

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func TestBusy(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	i := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{Now: func() time.Time { return now }})
	arrive := func(from, n int) {
		for k := range n {
			put(t, i, delivery("a", fmt.Sprint("msg_", from+k), "{}"))
		}
		if _, err := i.NewCallback(t.Context(), "a", 1, KindSummary, time.Hour); err != nil { // no delivery, and after them
			t.Fatal(err)
		}
	}
	steps := []struct {
		name  string
		after time.Duration
		n     int
		busy  bool
	}{
		{"a quiet second", 0, busyRate, false}, {"one more in it", 0, 1, true}, {"the next second", time.Second, 0, true},
		{"the one after", time.Second, 0, false}, {"half and half", 0, busyRate / 2, false},
		{"across two seconds", time.Second, busyRate/2 + 1, true}, {"long after", time.Hour, 0, false},
	}
	sent := 0
	for _, s := range steps {
		now = now.Add(s.after)
		arrive(sent, s.n)
		sent += s.n
		if got := i.Busy(); got != s.busy {
			t.Errorf("%s: busy %v, want %v", s.name, got, s.busy)
		}
	}
}
