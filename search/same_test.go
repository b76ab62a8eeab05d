package search

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
)

// testWords is small, so that random meetings share words.
var testWords = strings.Fields("budget budgets contract release printing market marketing e-mail ABC-123 Zoë the and of we renew renewed Friday page numbers")

func drawText(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(testWords), 1, 25).Draw(t, name), " ")
}

// drawMeeting is a random meeting; its content changes from one draw to the
// next.
func drawMeeting(t *rapid.T, id int64) []byte {
	var lines []utterance
	at := 0
	for range rapid.IntRange(0, 12).Draw(t, "entries") {
		at += rapid.IntRange(1, 40).Draw(t, "gap")
		lines = append(lines, utterance{at, rapid.SampledFrom([]string{"Anna Lee", "Bob Stone", "Cara Díaz"}).Draw(t, "speaker"), drawText(t, "text")})
	}
	more := map[string]any{"meeting_type": rapid.SampledFrom([]string{"Standup", "Review"}).Draw(t, "type")}
	if rapid.Bool().Draw(t, "summarised") {
		more["default_summary"] = map[string]any{"markdown_formatted": drawText(t, "summary")}
	}
	if rapid.Bool().Draw(t, "highlighted") {
		more["highlights"] = []any{map[string]any{"type": "Objection", "summary": drawText(t, "highlight"), "start_time": 20.5, "end_time": 61.0}}
	}
	lang := rapid.SampledFrom([]string{"en", "unknown", "de"}).Draw(t, "language")
	return meeting(id, drawText(t, "title"), lang, day(int(1+id%25)), lines, more)
}

// TestIncrementalIsRebuilt checks that an index that followed random arrivals
// and edits answers as one that is built of their outcome.
func TestIncrementalIsRebuilt(t *testing.T) {
	testrun.SkipUnderRace(t)
	queries := []string{"", "budget", "budget contract", "the", `"budget contract"`, `"the budget"`, "market*", "speaker:anna renew", "type:standup", "in:summary page",
		"-release", "contract OR friday", "sort:date budget", "zoe email", "objection", "What did we say about the printing contract?", "title:numbers", "language:de budget", "is:gone", "-is:gone budget"}
	rapid.Check(t, func(rt *rapid.T) {
		h := newFixture(t)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			var batch [][]byte
			for range rapid.IntRange(1, 4).Draw(rt, "meetings") {
				batch = append(batch, drawMeeting(rt, int64(rapid.IntRange(1, 9).Draw(rt, "id"))))
			}
			h.add(batch...)
			if rapid.IntRange(0, 3).Draw(rt, "walk") == 0 {
				w, err := h.archive.BeginWalk(context.Background(), "main", "")
				if err != nil {
					rt.Fatal(err)
				}
				w.Listed = 1000 // of which some may be missing
				if _, err := h.archive.CompleteWalk(context.Background(), w); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "follow") {
				h.catchUp()
			}
			if rapid.IntRange(0, 5).Draw(rt, "restart") == 0 {
				h.close()
				h.open()
			}
		}
		h.catchUp()
		fresh, err := Open(context.Background(), Options{Archive: h.archive, Dir: t.TempDir(), Logger: zerolog.Nop(), Now: func() time.Time { return testNow }})
		if err != nil {
			rt.Fatal(err)
		}
		defer fresh.Close()
		if err := fresh.CatchUp(context.Background()); err != nil {
			rt.Fatal(err)
		}
		for _, q := range queries {
			if diff := cmp.Diff(listAnswers(rt, fresh, q), listAnswers(rt, h.index, q)); diff != "" {
				rt.Fatalf("%q: rebuilt (-) and incremental (+) differ:\n%s", q, diff)
			}
		}
	})
}

// listAnswers is everything that an index says to a query, page by page.
func listAnswers(t interface{ Fatalf(string, ...any) }, x *Index, query string) []string {
	var out []string
	after := ""
	for {
		a, err := x.Search(context.Background(), Request{Query: query, Viewer: everyone, Limit: 3, After: after, Facets: true, Histogram: true})
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		if after == "" {
			out = append(out, fmt.Sprint(a.Total, a.Exact, a.Relaxed, a.DidYouMean, a.Facets, a.Histogram))
		}
		for _, h := range a.Meetings {
			out = append(out, fmt.Sprint(h.Row.RecordingID))
			for _, m := range h.Moments {
				out = append(out, fmt.Sprintf("%d %s %s %s %s", m.Entry, m.Offset, m.Speaker, m.Part, markHits(m.Snippet)))
			}
		}
		if a.Next == "" {
			return out
		}
		after = a.Next
	}
}
