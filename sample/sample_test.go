package sample

import (
	"bytes"
	"testing"
	"time"
)

func TestSameBaseSameBytes(t *testing.T) {
	a, b := All(), Meetings(Base().Add(17*time.Hour))
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("got %d and %d meetings", len(a), len(b))
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			t.Errorf("meeting %d differs between two calls for one day", i)
		}
	}
	if bytes.Equal(a[0], Meetings(Base().AddDate(0, 0, 7))[0]) {
		t.Error("another base date moved nothing")
	}
}
