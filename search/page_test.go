package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minutebook/internal/testrun"
	"minutebook/search/segment"
)

// TestPages walks through the pages of an answer, over the border of the
// window of meetings that are ranked by their moments.
func TestPages(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	var raws [][]byte
	for i := range 25 {
		raws = append(raws, meeting(int64(i+1), "Planning", "en", day(1+i), []utterance{{0, "Anna Lee", strings.Repeat("budget ", 1+i%7) + "and " + strings.Repeat("filler ", i%5)}}, nil))
	}
	h.add(raws...)
	h.catchUp()
	h.index.tuning.window = 7
	for _, query := range []string{"budget", "budget sort:date", "", "planning -nothing"} {
		for _, size := range []int{1, 3, 7, 8, 24, 25, 26} {
			seen := map[int64]bool{}
			after, pages := "", 0
			for {
				a := h.search(Request{Query: query, Limit: size, After: after})
				if a.Total != 25 {
					t.Fatalf("%q: total %d", query, a.Total)
				}
				for _, m := range a.Meetings {
					if seen[m.Row.RecordingID] {
						t.Errorf("%q by %d: meeting %d comes twice", query, size, m.Row.RecordingID)
					}
					seen[m.Row.RecordingID] = true
				}
				if pages++; a.Next == "" || pages > 30 {
					break
				}
				after = a.Next
			}
			if len(seen) != 25 {
				t.Errorf("%q by %d: %d meetings on %d pages", query, size, len(seen), pages)
			}
		}
	}
	a := h.search(Request{Query: "budget", Limit: 3})
	for _, marker := range []string{a.Next, "nonsense", "e30"} {
		_, err := h.index.Search(context.Background(), Request{Query: "planning", Viewer: everyone, After: marker})
		if !errors.Is(err, ErrCursor) {
			t.Errorf("marker %q with another query: %v", marker, err)
		}
	}
}

// TestPagesWhileMeetingsArrive checks that no meeting comes twice and none is
// left out when meetings arrive between two pages, which changes how rare the
// words are, and so every score.
func TestPagesWhileMeetingsArrive(t *testing.T) {
	h := newFixture(t)
	add := func(id int, text string) {
		h.add(meeting(int64(id), "Planning", "en", day(1).Add(time.Duration(id)*time.Minute), []utterance{{0, "Anna Lee", text}}, nil))
		h.catchUp()
	}
	for i := range 24 {
		add(i+1, strings.Repeat("budget ", 1+i%5)+strings.Repeat("release ", (i*7)%4)+strings.Repeat("filler ", i%6))
	}
	h.index.tuning.window = 7
	for _, query := range []string{"budget OR release", "(budget OR release)", "budget OR release sort:date"} {
		if h.index.tuning.shown = 1000; query[0] == '(' { // and the rest by date
			h.index.tuning.shown = 10
		}
		times := map[int64]int{}
		after, arrived := "", 100
		for {
			a := h.search(Request{Query: query, Limit: 4, After: after})
			for _, m := range a.Meetings {
				times[m.Row.RecordingID]++
			}
			if after = a.Next; after == "" {
				break
			}
			arrived++
			if arrived < 106 {
				add(arrived, strings.Repeat("release ", 3)+strings.Repeat("else ", 40))
				add(arrived-90, "budget release release now") // one that changes
			}
		}
		for id := range int64(24) {
			if times[id+1] != 1 {
				t.Errorf("%q shows meeting %d %d times", query, id+1, times[id+1])
			}
		}
	}
}

// TestLoosenedPagesWhileMeetingsArrive has meetings with more of the words, and others that make
// words more frequent, arrive between the pages of an answer with most of the words.
func TestLoosenedPagesWhileMeetingsArrive(t *testing.T) {
	for _, query := range []string{"walrus penguin otter", "What about walrus penguin otter?", "walrus penguin otter sort:date"} {
		h := newFixture(t)
		add := func(id int, words string) {
			h.add(meeting(int64(id), "Planning", "en", day(1).Add(time.Duration(id)*time.Minute), []utterance{{0, "Anna Lee", words}}, nil))
			h.catchUp()
		}
		for i := range 9 {
			add(i+1, []string{"walrus", "penguin", "otter"}[i%3])
		}
		a := h.search(Request{Query: query, Limit: 3})
		if a.Total != 9 || a.Relaxed == "" {
			t.Fatalf("%q finds %d, says %q", query, a.Total, a.Relaxed)
		}
		shown, relaxed := map[int64]int{}, a.Relaxed
		for arrived := 100; ; arrived += 10 {
			for _, m := range a.Meetings {
				shown[m.Row.RecordingID]++
			}
			if a.Next == "" {
				break
			}
			total := a.Total
			if arrived < 120 {
				total += 6
				add(arrived, "walrus penguin otter")
				for i := range 5 {
					add(arrived+1+i, "walrus")
				}
			}
			if a = h.search(Request{Query: query, Limit: 3, After: a.Next}); a.Relaxed != relaxed || a.Total != total {
				t.Errorf("%q: a further page says %q and finds %d, want %d", query, a.Relaxed, a.Total, total)
			}
		}
		for id := range int64(9) {
			if shown[id+1] != 1 {
				t.Errorf("%q shows meeting %d %d times", query, id+1, shown[id+1])
			}
		}
	}
}

// TestFollow checks that applied meetings are found while the index follows, and
// that following leaves nothing behind when it ends.
func TestFollow(t *testing.T) {
	h := newFixture(t)
	before := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.index.Follow(ctx) }()
	for i, raw := range threeMeetings() {
		h.add(raw)
		deadline := time.Now().Add(5 * time.Minute)
		for h.search(Request{Query: fmt.Sprintf("id:%d", i+1)}).Total == 0 {
			if time.Now().After(deadline) {
				t.Fatalf("meeting %d is not found", i+1)
			}
			time.Sleep(time.Millisecond)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"), goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// TestInterruptedBuild stops a build in the middle: the index so far answers and
// says so, and the next start goes on.
func TestInterruptedBuild(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	var raws [][]byte
	for i := range buildMeetings + 50 {
		raws = append(raws, meeting(int64(i+1), "Planning", "en", day(1).Add(time.Duration(i)*time.Hour), []utterance{{0, "Anna Lee", "budget"}}, nil))
	}
	h.add(raws...)
	c, err := h.index.readChunk(context.Background(), h.index.next, h.index.next.buildState())
	if err == nil {
		err = h.index.writeChunk(context.Background(), h.index.next, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.index.countMeetings(context.Background())
	for range 2 {
		a := h.search(Request{Query: "budget"})
		if a.Total != buildMeetings || !a.Progress.Rebuilding || a.Progress.Indexed != buildMeetings || a.Progress.Total != buildMeetings+50 {
			t.Fatalf("in the middle: total %d, %+v", a.Total, a.Progress)
		}
		if a.Meetings[0].Row.RecordingID != buildMeetings+50 {
			t.Errorf("the newest meetings are not there first")
		}
		h.close()
		h.open()
	}
	h.catchUp()
	if a := h.search(Request{Query: "budget"}); a.Total != buildMeetings+50 || a.Progress.Rebuilding {
		t.Fatalf("in the end: total %d, %+v", a.Total, a.Progress)
	}
}

// TestCutWhileOpen cuts the files of an index that answers: searches may fail,
// the program does not, and the index comes back.
func TestCutWhileOpen(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	for _, path := range filesOf(t, h.dir, ".zap") {
		if err := os.Truncate(path, 0); err != nil && !errors.Is(err, os.ErrNotExist) { // merged away meanwhile
			t.Fatal(err)
		}
	}
	if _, err := h.index.Search(context.Background(), Request{Query: "budget", Viewer: everyone}); err != nil && !errors.Is(err, segment.ErrDamaged) {
		t.Fatal(err)
	}
	if err := h.index.Check(context.Background()); err != nil && !errors.Is(err, errUnsound) {
		t.Fatal(err)
	}
	h.catchUp()
	checkAnswers(h)
}

// TestStopWordsShowMoments checks that words which moments leave out are
// quoted all the same.
func TestStopWordsShowMoments(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	a := h.search(Request{Query: "with the"})
	if len(a.Meetings) == 0 || len(a.Meetings[0].Moments) == 0 || !strings.Contains(markHits(a.Meetings[0].Moments[0].Snippet), "[") {
		t.Errorf("no moment is shown: %+v", a.Meetings)
	}
}

// TestFrequentWordsAreFoundAnywhere quotes a phrase of stop words from a long transcript,
// which is read piece by piece: within pieces, at their ends, and from one into the next.
func TestFrequentWordsAreFoundAnywhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	const entries = 400
	h := newFixture(t)
	places := [][]int{{0}, {firstRead - 1}, {firstRead}, {firstRead - 2, firstRead + 2}, {5, 3*firstRead - 1, entries - 1},
		{10, 100, 200, 300}, {}}
	for i, at := range places {
		lines := make([]utterance, entries)
		for n := range lines {
			lines[n] = utterance{20 * n, "Anna", "walrus herd"}
		}
		for _, n := range at {
			lines[n].text = "the herd has"
			if n+1 < entries {
				lines[n+1].text = "been fed"
			} else {
				lines[n].text = "the herd has been fed"
			}
		}
		h.add(meeting(int64(i+1), "Herd", "en", testNow, lines, nil))
	}
	h.catchUp()
	for i, at := range places {
		var got []int
		for _, m := range h.search(Request{Query: fmt.Sprintf(`"has been" id:%d`, i+1)}).Meetings {
			for _, moment := range m.Moments {
				got = append(got, moment.Entry)
			}
		}
		if want := at[:min(3, len(at))]; !slices.Equal(got, want) {
			t.Errorf("said at %v, and quoted at %v", want, got)
		}
	}
}

// TestWithinAMeeting asks for one meeting alone, also with as long a query as there may be, and
// one that ends in OR.
func TestWithinAMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	for _, c := range []struct {
		query string
		want  string // of the meetings, asked one by one
	}{
		{"marketing", "1 2"}, {"budget OR release", "1 2"}, {"vertrag OR", "3"}, {"", "1 2 3"}, {"marketing sort:date", "1 2"}, {"-marketing", "3"},
		{strings.Repeat("marketing ", 128), "1 2"}, {"vertrag longer:" + strings.Repeat("0", 4077) + "1m", "3"},
		{"speaker:/" + strings.Repeat("x", 4087), ""}, // printed, it is longer than a query may be
	} {
		var found []string
		for id := range int64(4) {
			a, err := h.index.Search(t.Context(), Request{Query: c.query, Viewer: everyone, Within: id, Whole: true})
			if err != nil {
				t.Fatalf("%.40q: %v", c.query, err)
			}
			if id > 0 && a.Total > 0 {
				found = append(found, hitIDs(a))
			}
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%.40q finds %q, want %q", c.query, got, c.want)
		}
	}
}
