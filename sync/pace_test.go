package syncer

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNothingMeasuredMeansFewOpen(t *testing.T) {
	var p pace
	now := time.Unix(0, 0)
	if !p.allow(now, nil, 2) || !p.allow(now, make([]link, 2), 2) {
		t.Error("the first requests are refused")
	}
	if p.allow(now, make([]link, 3), 2) {
		t.Error("links are opened before it is known how fast they can be fetched")
	}
}

func TestSlowLineOpensFewLinks(t *testing.T) {
	var p pace
	p.completed(3600_000, 35*time.Second, 24*time.Hour)
	p.fetched(3600_000, 36*time.Second) // 100 an hour
	now := time.Unix(0, 0)
	n := 0
	for open := []link(nil); p.allow(now, open, 1) && n < 1000; n++ {
		open = append(open, link{})
	}
	if n < 2 || n > 4 {
		t.Errorf("%d links are open on a line that fetches one in 36 s; want 2 to 4", n)
	}
}

func TestNoLinkIsOpenedThatCannotBeFetchedInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace
		size := rapid.Int64Range(1, 1<<30).Draw(t, "size")
		perFile := time.Duration(rapid.IntRange(1, 7200).Draw(t, "seconds a file")) * time.Second
		life := time.Duration(rapid.IntRange(60, 86400).Draw(t, "life")) * time.Second
		p.completed(size, 35*time.Second, life)
		p.fetched(size, perFile)
		now := time.Unix(0, 0)
		var open []link
		for p.allow(now, open, rapid.IntRange(1, 4).Draw(t, "fetchers")) {
			open = append(open, link{Expires: now.Add(life), Left: size})
			if len(open) > maxOpen {
				t.Fatalf("%d links are open", len(open))
			}
		}
		if need := time.Duration(len(open)) * perFile; need > life+35*time.Second {
			t.Fatalf("%d links that live %v need %v", len(open), life, need)
		}
	})
}
