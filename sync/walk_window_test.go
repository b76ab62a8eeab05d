package syncer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
)

func TestWindowAdvances(t *testing.T) {
	w, err := window{}.advanced("a")
	if err != nil || w.Cursor != "a" || w.Pages != 1 || w.Done {
		t.Fatalf("after a page: %+v, %v", w, err)
	}
	if _, err := w.advanced("a"); err == nil {
		t.Error("a cursor that leads to itself is followed")
	}
	for length := 2; length < 40; length++ { // cursors that repeat after as many pages
		loop, pages := w, 0
		for err = nil; err == nil && pages < 4*length; pages++ {
			loop, err = loop.advanced(fmt.Sprint(pages % length))
		}
		if !api.IsCursorRefused(err) || pages <= length {
			t.Errorf("a loop of %d cursors, after %d pages: %v", length, pages, err)
		}
	}
	if w, err = w.advanced(""); err != nil || !w.Done || w.Cursor != "" {
		t.Errorf("after the last page: %+v, %v", w, err)
	}
}

func TestRefusedCursorRestartsAndThenHalves(t *testing.T) {
	lo, hi := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	w := window{N: 3, After: lo, Before: hi, Cursor: "x", Pages: 9}
	first := w.restarted(10, hi)
	if d := cmp.Diff([]window{{N: 3, After: lo, Before: hi, Restarts: 1}}, first); d != "" {
		t.Fatal(d)
	}
	mid := lo.Add(24 * time.Hour)
	if d := cmp.Diff([]window{{N: 3, After: mid, Before: hi}, {N: 10, After: lo, Before: mid}}, first[0].restarted(10, hi)); d != "" {
		t.Error(d)
	}
	if got := (window{Restarts: 1}).restarted(1, hi); len(got) != 2 || !got[0].Before.IsZero() || !got[1].After.IsZero() {
		t.Errorf("halves of a window without bounds: %+v", got)
	}
	thin := window{After: lo, Before: lo.Add(time.Minute), Restarts: 5}
	if got := thin.restarted(1, hi); len(got) != 1 {
		t.Errorf("a minute was halved: %+v", got)
	}
}

func TestWindowSurvivesItsMark(t *testing.T) {
	want := window{N: 2, Before: time.Unix(5, 0).UTC(), Cursor: "c", Pages: 3, Restarts: 1}
	got, err := decodeMark[window]("key", newMark("key", want).Value)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
