package archive

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/testrun"
)

// listObservations returns meetings as a list query of an account showed them, on a
// page that was asked for when so many walks of the query had begun.
func listObservations(account, query string, walk int64, ids ...int64) []Observation {
	var batch []Observation
	for _, id := range ids {
		batch = append(batch, Observation{Account: account, Query: query, Source: SourceList, RecordingID: id, At: epoch0, Walk: walk})
	}
	return batch
}

func beginWalk(t *testing.T, a *Archive, account, query string) Walk {
	t.Helper()
	w, err := a.BeginWalk(t.Context(), account, query)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func completeWalk(t *testing.T, a *Archive, w Walk) Absence {
	t.Helper()
	absence, err := a.CompleteWalk(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(absence.Gone)
	return absence
}

// walkTwice makes two walks of a query that list the same meetings, so that the
// second is believed however little that is.
func walkTwice(t *testing.T, a *Archive, account, query string, ids ...int64) Absence {
	t.Helper()
	var absence Absence
	for range 2 {
		w := beginWalk(t, a, account, query)
		apply(t, a, listObservations(account, query, w.Number, ids...)...)
		gone := absence.Gone
		absence = completeWalk(t, a, w)
		absence.Gone = append(gone, absence.Gone...)
	}
	return absence
}

// TestARefusalEndsWithTheSighting has a recording refused to an account, as when its meeting
// was deleted, and shows the meeting to the account again: it is asked for once more.
func TestARefusalEndsWithTheSighting(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	want := func(when string, want int) {
		t.Helper()
		if n, err := a.WantDownloads(t.Context()); n != want || err != nil {
			t.Errorf("%s: %d are wanted, %v; want %d", when, n, err, want)
		}
	}
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "ann", "", 1)
	want("new", 1)
	refuse := func() {
		t.Helper()
		saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused, Due: epoch0}, "ann", false)
	}
	refuse()
	walkTwice(t, a, "ann", "", 1)
	want("still shown", 0)
	walkTwice(t, a, "ann", "")
	refuse() // an answer to an earlier request
	want("gone", 0)
	walkTwice(t, a, "ann", "", 1)
	want("back", 1)
	refuse()
	want("refused again", 0)
	at := epoch0
	changed := func(sharedWith, title string) {
		raw := bytes.Replace(meetingJSON(1, title, "x"), []byte("{"), []byte(`{"shared_with": "`+sharedWith+`",`), 1)
		at = at.Add(time.Hour)
		apply(t, a, observe(t, SourceWebhook, at, raw))
	}
	changed("single_team", "T")
	want("shared with a team", 1)
	refuse()
	changed("single_team", "renamed")
	want("renamed", 0)
	changed("all_teams", "renamed")
	want("shared with all", 1)
}

// TestWhoIsForbiddenARecordingDoesNotPlayIt has the service forbid a recording to an account,
// as it does where the meeting is shared with limited access, which no list says.
func TestWhoIsForbiddenARecordingDoesNotPlayIt(t *testing.T) {
	a := newArchive(t)
	must(t, a.PutAccountPerson(t.Context(), "dan", "dan@example.com"))
	must(t, a.PutAccountPerson(t.Context(), "eve", "eve@example.com"))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	for _, account := range []string{"dan", "eve"} {
		walkTwice(t, a, account, "", 1)
	}
	mayPlay := func(when, email string, want bool) {
		t.Helper()
		if visible, allowed, err := a.MayPlay(t.Context(), ViewerWith(email), 1); !visible || allowed != want || err != nil {
			t.Errorf("%s: %s sees it: %t, plays it: %t, %v; want %t", when, email, visible, allowed, err, want)
		}
	}
	mayPlay("at first", "dan@example.com", true)
	d := Download{RecordingID: 1, State: DownloadWanted}
	before, err := a.Head(t.Context())
	must(t, err)
	saveRefusal(t, a, d, "eve", false)
	saveRefusal(t, a, d, "dan", true)
	mayPlay("forbidden", "dan@example.com", false)
	mayPlay("not found", "eve@example.com", true)
	changes, err := a.Changes(t.Context(), before, 10)
	if err != nil || len(changes) != 1 || changes[0].RecordingID != 1 || changes[0].Kind != ChangeMedia {
		t.Errorf("the log has %v, %v", changes, err)
	}
	d.State = DownloadDone
	must(t, a.SaveDownload(t.Context(), d))
	if head, err := a.Head(t.Context()); err != nil || head.Seq != before.Seq+1 {
		t.Errorf("the log ends at %v, %v", head, err)
	}
	if got, err := a.DownloadOf(t.Context(), 1); err != nil || !slices.Equal(got.ForbiddenTo, []string{"dan"}) {
		t.Errorf("kept: %+v, %v", got, err)
	}
	walkTwice(t, a, "dan", "teams:x", 1)
	mayPlay("listed by another query", "dan@example.com", false)
	walkTwice(t, a, "dan", "teams:x")
	must(t, a.SetShares(t.Context(), 1, map[string]ShareLevel{UserPrincipal("dan@example.com"): ShareStandard}))
	mayPlay("shared otherwise", "dan@example.com", true)
	must(t, a.SetShares(t.Context(), 1, nil))
	walkTwice(t, a, "dan", "")
	walkTwice(t, a, "dan", "", 1)
	mayPlay("shown again", "dan@example.com", true)
}

// TestGoneIsWhatNoQueryOfAnyAccountSees follows meetings through walks.
func TestGoneIsWhatNoQueryOfAnyAccountSees(t *testing.T) {
	a := newArchive(t)
	walk := func(account, query string, want ...int64) {
		t.Helper()
		if got := walkTwice(t, a, account, query); !slices.Equal(got.Gone, want) {
			t.Fatalf("walks of %q by %s: %+v; want %v gone", query, account, got, want)
		}
	}
	isGone := func(id int64, want bool) {
		t.Helper()
		row, err := a.Row(t.Context(), id)
		if err != nil || row.Gone != want {
			t.Fatalf("meeting %d: gone %t, %v; want %t", id, row.Gone, err, want)
		}
	}
	apply(t, a, listObservations("ann", "", 0, 1, 2, 3)...)
	apply(t, a, listObservations("bob", "", 0, 2)...)
	apply(t, a, listObservations("ann", "teams:Sales", 0, 3)...)
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(9, "T", "delivered, never listed")))

	w := beginWalk(t, a, "ann", "")
	apply(t, a, listObservations("ann", "", w.Number, 1, 2, 3)...)
	completeWalk(t, a, w)             // it saw all of them
	walk("ann", "", 1)                // 2 is bob's too, 3 is seen by another query, 9 was never listed
	isGone(1, true)                   //
	old := beginWalk(t, a, "bob", "") //
	walk("bob", "", 2)                // now no one sees 2
	walk("ann", "teams:Sales", 3)     //
	isGone(9, false)                  //
	apply(t, a, listObservations("ann", "", w.Number, 1)...)
	isGone(1, true)                                    // a page of before those walks, applied late, does not bring it back
	walk("ann", "")                                    // gone once is not gone again
	apply(t, a, listObservations("carl", "", 0, 1)...) // someone else sees it
	isGone(1, false)
	apply(t, a, listObservations("bob", "", old.Number+1, 2)...)
	isGone(2, false)
	if absence := completeWalk(t, a, old); absence.Hidden+absence.Lacked != 0 {
		t.Errorf("a walk older than the latest one says %+v", absence)
	}

	rows, err := a.List(t.Context(), ListQuery{Viewer: Viewer{All: true}})
	if err != nil || len(rows) != 3 {
		t.Fatalf("listed %d, %v; want those not gone", len(rows), err)
	}
	if rows, err = a.List(t.Context(), ListQuery{Viewer: Viewer{All: true}, IncludeGone: true}); err != nil || len(rows) != 4 {
		t.Fatalf("listed %d, %v; want all", len(rows), err)
	}
	changes, err := a.Changes(t.Context(), Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, c := range changes {
		if c.Kind == ChangeGone {
			marked++
		}
	}
	if marked != 5 {
		t.Errorf("followers were told of going and coming back %d times; want 5", marked)
	}
}

// TestTooMuchIsNotBelievedOfOneWalk follows walks that list some of 40 meetings:
// one that lacks more than is plausible hides nothing, another that lacks the
// same hides the meetings that both lack.
func TestTooMuchIsNotBelievedOfOneWalk(t *testing.T) {
	testrun.SkipUnderRace(t)
	upTo := func(from, to int64) (ids []int64) {
		for id := from; id <= to; id++ {
			ids = append(ids, id)
		}
		return ids
	}
	type walk struct {
		lists []int64
		want  Absence // of which Gone is not compared
	}
	for name, walks := range map[string][]walk{
		"one of them":         {{upTo(2, 40), Absence{Hidden: 1, Lacked: 1}}},
		"a tenth":             {{upTo(5, 40), Absence{Hidden: 4, Lacked: 4}}},
		"more, and once":      {{upTo(6, 40), Absence{Lacked: 5, Doubted: true}}, {upTo(1, 40), Absence{}}, {upTo(6, 40), Absence{Lacked: 5, Doubted: true}}},
		"more, and twice":     {{upTo(6, 40), Absence{Lacked: 5, Doubted: true}}, {upTo(6, 40), Absence{Lacked: 5, Hidden: 5, Confirmed: true}}, {upTo(6, 40), Absence{}}},
		"everything":          {{nil, Absence{Lacked: 40, Doubted: true}}, {nil, Absence{Lacked: 40, Hidden: 40, Confirmed: true}}},
		"others each time":    {{upTo(1, 20), Absence{Lacked: 20, Doubted: true}}, {upTo(11, 30), Absence{Lacked: 20, Hidden: 10, Doubted: true, Confirmed: true}}, {upTo(1, 30), Absence{}}},
		"fewer the next time": {{nil, Absence{Lacked: 40, Doubted: true}}, {upTo(3, 40), Absence{Lacked: 2, Hidden: 2}}},
		"only new ones":       {{upTo(100, 900), Absence{Lacked: 40, Doubted: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			apply(t, a, listObservations("ann", "", 0, upTo(1, 40)...)...)
			apply(t, a, listObservations("bob", "", 0, upTo(1, 40)...)...)
			for n, walk := range walks {
				w := beginWalk(t, a, "ann", "")
				apply(t, a, listObservations("ann", "", w.Number, walk.lists...)...)
				got, want := completeWalk(t, a, w), walk.want
				got.Gone, got.Listed = nil, 0
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("walk %d: %s", n+1, d)
				}
			}
		})
	}
}

// A clock may say anything while walks go on: absence does not change with it.
func TestClocksDoNotDecideWhatIsGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, step := range []time.Duration{-10 * time.Minute, 10 * time.Minute, -24 * time.Hour, 24 * time.Hour, -10 * 365 * 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			at := epoch0
			list := func(w Walk, ids ...int64) {
				batch := listObservations("ann", "", w.Number, ids...)
				for i := range batch {
					batch[i].At = at
				}
				apply(t, a, batch...)
			}
			list(Walk{}, 1, 2, 3, 4, 5)
			for want, ids := range [][]int64{{1, 2, 3, 4, 5}, {1, 2, 3, 4}, {1, 2, 3}} {
				w := beginWalk(t, a, "ann", "")
				list(w, ids[:2]...)
				at = at.Add(step) // forward, then back
				list(w, ids[2:]...)
				step = -step
				completeWalk(t, a, w)
				if c, err := a.Counts(t.Context()); err != nil || c.Gone != want {
					t.Fatalf("after walk %d: %+v, %v; want %d gone", w.Number, c, err, want)
				}
			}
			w := beginWalk(t, a, "ann", "")
			list(w, 1, 2, 3, 4, 5)
			completeWalk(t, a, w)
			if c, err := a.Counts(t.Context()); err != nil || c.Gone != 0 {
				t.Errorf("all are back: %+v, %v", c, err)
			}
		})
	}
}

// A meeting without created_at is on no page that was asked for with a bound of
// that time, and so not missed by it.
func TestWhatHasNoDateIsNotMissedByBounds(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "dated")), observe(t, SourceList, epoch0, []byte(`{"recording_id": 2, "title": "undated"}`)))
	apply(t, a, listObservations("main", "", 0, 3)...)
	for _, bounded := range []bool{true, false} {
		w := beginWalk(t, a, "main", "")
		w.Bounded = bounded
		apply(t, a, listObservations("main", "", w.Number, 1)...)
		completeWalk(t, a, w)
		if row, err := a.Row(t.Context(), 2); err != nil || row.Gone == bounded {
			t.Errorf("walk with bounds %t: %+v, %v", bounded, row, err)
		}
	}
}
