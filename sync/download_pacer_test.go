package syncer

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/archive"
)

func TestNothingMeasuredMeansFewOpen(t *testing.T) {
	var p pacer
	now := time.Unix(0, 0)
	if !p.allowsAnother(now, nil, 2) || !p.allowsAnother(now, make([]openLink, 2), 2) {
		t.Error("the first requests are refused")
	}
	if p.allowsAnother(now, make([]openLink, 3), 2) {
		t.Error("links are opened before it is known how fast they can be fetched")
	}
}

func TestSlowLineOpensFewLinks(t *testing.T) {
	var p pacer
	p.recordGeneration(3600_000, 35*time.Second, 24*time.Hour)
	p.recordFetch(3600_000, 36*time.Second) // 100 an hour
	now := time.Unix(0, 0)
	if n := linksOpened(&p, now); n < 2 || n > 4 {
		t.Errorf("%d links are open on a line that fetches one in 36 s; want 2 to 4", n)
	}
}

func TestNoLinkIsOpenedThatCannotBeFetchedInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pacer
		size := rapid.Int64Range(1, 1<<30).Draw(t, "size")
		perFile := time.Duration(rapid.IntRange(1, 7200).Draw(t, "seconds a file")) * time.Second
		life := time.Duration(rapid.IntRange(60, 86400).Draw(t, "life")) * time.Second
		p.recordGeneration(size, 35*time.Second, life)
		p.recordFetch(size, perFile)
		now := time.Unix(0, 0)
		var open []openLink
		for p.allowsAnother(now, open, rapid.IntRange(1, 4).Draw(t, "fetchers")) {
			open = append(open, openLink{Expires: now.Add(life), Left: size})
			if len(open) > maxOpen {
				t.Fatalf("%d links are open", len(open))
			}
		}
		// One is always tried: its bytes are kept when its link lapses.
		if need := time.Duration(len(open)) * perFile; len(open) > 1 && need > life+35*time.Second {
			t.Fatalf("%d links that live %v need %v", len(open), life, need)
		}
	})
}

// One odd measurement, as of a clock that was set, an absurd size or a line that was
// down, stops no downloads for good: one is always tried, and measured.
func TestAnOddMeasurementHeals(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]func(*pacer){
		"absurd size":    func(p *pacer) { p.recordGeneration(largestRecording, 35*time.Second, 24*time.Hour) },
		"short-lived":    func(p *pacer) { p.recordGeneration(3600_000, 35*time.Second, time.Millisecond) },
		"years to wait":  func(p *pacer) { p.recordGeneration(3600_000, 10*365*24*time.Hour, 24*time.Hour) },
		"line was down":  func(p *pacer) { measure(p, 200, 1, 10*time.Minute) },
		"everything odd": func(p *pacer) { p.recordGeneration(largestRecording, 1, 1); measure(p, 200, 1, time.Hour) },
	} {
		var p pacer
		now := time.Unix(0, 0)
		good := func() {
			p.recordGeneration(3600_000, 35*time.Second, 24*time.Hour)
			p.recordFetch(3600_000, 36*time.Second)
		}
		good()
		odd(&p)
		for range 100 {
			if !p.allowsAnother(now, nil, 1) {
				t.Fatalf("%s: nothing is opened any more", name)
			}
			good()
		}
		if n := linksOpened(&p, now); n < 2 || n > 4 {
			t.Errorf("%s: afterwards %d links are open at a time; want 2 to 4", name, n)
		}
		if wait := p.announcedPollDelay(); wait > 2*time.Minute {
			t.Errorf("%s: afterwards an announcement is awaited for %v", name, wait)
		}
	}
	var p pacer
	p.recordGeneration(1, 10*365*24*time.Hour, time.Hour)
	if wait := p.announcedPollDelay(); wait > slowestAnnouncedPoll {
		t.Errorf("an announcement that was lost is awaited for %v", wait)
	}
}

// measure records fetches of so many bytes each.
func measure(p *pacer, times int, bytes int64, busy time.Duration) {
	for range times {
		p.recordFetch(bytes, busy)
	}
}

// linksOpened returns how many links p opens one after the other.
func linksOpened(p *pacer, now time.Time) (n int) {
	for open := []openLink(nil); p.allowsAnother(now, open, 1) && n < 1000; n++ {
		open = append(open, openLink{})
	}
	return n
}

// A look that came late, as when the minute's calls were used up, says little of
// how long the generation took; a callback says it.
func TestALateLookDoesNotMakeTheNextOnesAsLate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		looked time.Duration // 0: never
		heard  bool
		want   time.Duration
	}{
		"never looked at before":        {0, false, 30 * time.Second},
		"seen being generated":          {50 * time.Second, false, 55 * time.Second},
		"told by a callback":            {20 * time.Second, true, time.Minute},
		"a look of an earlier download": {-time.Hour, false, 30 * time.Second},
	} {
		task := &downloadTask{row: archive.Download{RequestedAt: at}, wasAnnounced: c.heard}
		if c.looked != 0 {
			task.lastPoll = at.Add(c.looked)
		}
		if got := task.generationTime(at.Add(time.Minute)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// While an open link hardly has the time that it needs, no other is opened beside
// it, though a fetcher is free.
func TestALinkThatIsShortOfTimeIsNotJoined(t *testing.T) {
	t.Parallel()
	var p pacer
	p.recordGeneration(1000, 35*time.Second, 24*time.Hour)
	p.recordFetch(1000, time.Minute)
	now := time.Unix(0, 0)
	for left, want := range map[int64]bool{10_000: true, 50_000: false} { // ten and fifty minutes, of an hour
		open := []openLink{{Expires: now.Add(time.Hour), Left: left}}
		if got := p.allowsAnother(now, open, 2); got != want {
			t.Errorf("%d bytes left of a link that lapses in an hour: another one is opened: %v", left, got)
		}
	}
}

// The life of a link is counted by the service's clock, where that is known.
func TestALinkExpiresByThisMachinesClock(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, skew := range []time.Duration{0, 40 * 24 * time.Hour, -40 * 24 * time.Hour} {
		date := now.Add(-skew)
		if at := linkExpiry(date.Add(time.Hour), date, now); !at.Equal(now.Add(time.Hour)) {
			t.Errorf("with a clock that is %v ahead it expires at %v", skew, at)
		}
	}
	if at := linkExpiry(now.Add(-time.Minute), time.Time{}, now); !at.IsZero() {
		t.Errorf("one that seems to have expired, by an unknown clock, expires at %v", at)
	}
}
