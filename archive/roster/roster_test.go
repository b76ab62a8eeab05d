package roster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
)

// owner sees everything.
var owner = archive.Viewer{All: true}

// meetingOn is a meeting of an hour, recorded by somebody, with Ann invited under her
// address, who speaks without one, and an action item of hers.
func meetingOn(id int64, day, recorder string) json.RawMessage {
	return fmt.Appendf(nil, `{"title": "M%d", "recording_id": %d, "recording_start_time": "%sT10:00:00Z", "recording_end_time": "%sT11:00:00Z",
		"calendar_invitees": [{"name": "Ann Lee", "email": "Ann@example.com", "matched_speaker_display_name": "Annie"}],
		"recorded_by": {"name": "%s", "email": "%s@example.com"},
		"transcript": [{"speaker": {"display_name": "Annie"}, "text": "one two three", "timestamp": "00:00:01"},
			{"speaker": {"display_name": "Guest"}, "text": "four", "timestamp": "00:00:05"}],
		"action_items": [{"description": "Call %d", "recording_timestamp": "00:00:30", "assignee": {"name": "Ann Lee"}},
			{"description": "Done %d", "completed": true, "assignee": null}]}`, id, id, day, day, recorder, recorder, id, id)
}

func newRoster(t *testing.T) (*Roster, *archive.Archive) {
	t.Helper()
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, meetingOn(1, "2026-01-05", "bob"), meetingOn(2, "2026-01-06", "bob"), meetingOn(3, "2026-02-06", "cy"))
	return New(a), a
}

// describe writes the people of an answer in a short form.
func describe(people []Person) string {
	var all []string
	for _, p := range people {
		all = append(all, fmt.Sprintf("%s %s %d/%d %v %d/%d +%d-%d", p.Key, p.Name, p.Meetings, p.Spoke, p.Time, p.Words, p.Said, p.Open, p.Done))
	}
	return strings.Join(all, "; ")
}

func (r *Roster) people(t *testing.T, v View) string {
	t.Helper()
	people, err := r.People(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return describe(people)
}

func expect(t *testing.T, name string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n%v, want\n%v", name, got, want)
	}
}

func TestPeopleAreCountedFromVisibleMeetings(t *testing.T) {
	r, a := newRoster(t)
	expect(t, "the owner's", r.people(t, View{Viewer: owner}), "ann@example.com Ann Lee 3/3 3h0m0s 9/12 +3-0; Guest Guest 3/3 3h0m0s 3/12 +0-0; "+
		"bob@example.com bob 2/0 2h0m0s 0/0 +0-0; cy@example.com cy 1/0 1h0m0s 0/0 +0-0")
	bobs := View{Viewer: archive.ViewerWith("bob@example.com")}
	expect(t, "Bob's", r.people(t, bobs), "ann@example.com Ann Lee 2/2 2h0m0s 6/8 +2-0; Guest Guest 2/2 2h0m0s 2/8 +0-0; bob@example.com bob 2/0 2h0m0s 0/0 +0-0")
	expect(t, "a stranger's", r.people(t, View{Viewer: archive.ViewerWith("x@example.com")}), "")
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), meetingOn(3, "2026-02-06", "bob"), meetingOn(4, "2026-02-07", "bob"))
	if got := r.people(t, bobs); !strings.HasPrefix(got, "ann@example.com Ann Lee 4/4") {
		t.Errorf("after changes: %s", got)
	}
	if _, err := a.Forget(t.Context(), 4, "test"); err != nil {
		t.Fatal(err)
	}
	expect(t, "after forgetting, as one that begins anew", r.people(t, bobs), New(a).people(t, bobs))
	if _, err := r.Person(t.Context(), View{Viewer: archive.ViewerWith("x@example.com")}, "ann@example.com", time.UTC); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a stranger's view of Ann: %v", err)
	}
}

// groups merges names.
func groups(t *testing.T, merges ...[]string) *notes.Groups {
	t.Helper()
	d, err := notes.Open(t.Context(), notes.Options{Archive: archivetest.New(t)})
	for _, names := range merges {
		if err == nil {
			_, err = d.Merge(t.Context(), 0, names...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMergedPersonsGiveNoRights(t *testing.T) {
	r, _ := newRoster(t)
	merged := groups(t, []string{"cy@example.com", "Guest", "bob@example.com"})
	expect(t, "the owner's", r.people(t, View{Viewer: owner, Groups: merged}), "ann@example.com Ann Lee 3/3 3h0m0s 9/12 +3-0; cy@example.com cy 3/3 3h0m0s 3/12 +0-0")
	bobs := View{Viewer: archive.ViewerWith("bob@example.com"), Groups: merged}
	// Cy's address is of a meeting that Bob does not see.
	expect(t, "Bob's", r.people(t, bobs), "ann@example.com Ann Lee 2/2 2h0m0s 6/8 +2-0; bob@example.com bob 2/2 2h0m0s 2/8 +0-0")
	if _, err := r.Person(t.Context(), bobs, "cy@example.com", time.UTC); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("Bob's view of Cy: %v", err)
	}
	d, err := r.Person(t.Context(), bobs, "guest", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the guest", fmt.Sprint(d.Names, d.IDs, d.Spoken, len(d.Months))+" "+describe(d.With), "[bob@example.com Guest bob] [2 1] [2 1] 1 ann@example.com Ann Lee 2/2 2h0m0s 6/8 +2-0")
}

func TestItemsAreSelected(t *testing.T) {
	r, a := newRoster(t)
	tick := map[notes.Item]notes.Tick{{RecordingID: 2, At: 30 * time.Second, Text: "Call 2"}: {}}
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	last := archive.ActionKey{Key: archive.Key{Start: time.Date(2026, 1, 6, 10, 0, 0, 0, time.UTC), RecordingID: 2}}
	for name, tt := range map[string]struct {
		viewer archive.Viewer
		query  ItemQuery
		want   string
		more   bool
	}{
		"all":          {owner, ItemQuery{State: All}, "[{3 0} {3 1} {2 0} {2 1} {1 0} {1 1}]", false},
		"open":         {owner, ItemQuery{State: Open}, "[{3 0} {1 0}]", false},
		"done":         {owner, ItemQuery{State: Done}, "[{3 1} {2 0} {2 1} {1 1}]", false},
		"Ann's":        {owner, ItemQuery{State: All, Person: "Ann@Example.com"}, "[{3 0} {2 0} {1 0}]", false},
		"nobody's":     {owner, ItemQuery{State: All, Person: Nobody}, "[{3 1} {2 1} {1 1}]", false},
		"an alias's":   {owner, ItemQuery{State: All, Person: "who", Aliases: []string{"ann@example.com"}}, "[{3 0} {2 0} {1 0}]", false},
		"a stranger's": {owner, ItemQuery{State: All, Person: "who"}, "[]", false},
		"oldest":       {owner, ItemQuery{State: Open, Oldest: true}, "[{1 0} {3 0}]", false},
		"limited":      {owner, ItemQuery{State: All, Limit: 1}, "[{3 0}]", true},
		"after":        {owner, ItemQuery{State: All, After: &last, Limit: 2}, "[{2 1} {1 0}]", true},
		"of two days":  {owner, ItemQuery{State: All, Since: day(5), Before: day(6)}, "[{1 0} {1 1}]", false},
		"among":        {owner, ItemQuery{State: All, Among: map[archive.ItemKey]bool{{RecordingID: 2, Position: 1}: true}}, "[{2 1}]", false},
		"Bob sees":     {archive.ViewerWith("bob@example.com"), ItemQuery{State: Open}, "[{1 0}]", false},
		"nobody sees":  {archive.ViewerWith("x@example.com"), ItemQuery{State: All}, "[]", false},
	} {
		l, err := r.Items(t.Context(), View{Viewer: tt.viewer, Ticks: tick}, tt.query)
		if err != nil || fmt.Sprint(l.Keys) != tt.want || l.More != tt.more {
			t.Errorf("%s: %v, more %v, %v; want %s", name, l.Keys, l.More, err, tt.want)
		}
	}
	var paged []archive.ItemKey
	for q := (ItemQuery{State: All, Limit: 1}); ; {
		l, err := r.Items(t.Context(), View{Viewer: owner}, q)
		if err != nil {
			t.Fatal(err)
		}
		if paged = append(paged, l.Keys...); !l.More {
			break
		}
		q.After = &l.Last
	}
	expect(t, "pages", fmt.Sprint(paged), "[{3 0} {3 1} {2 0} {2 1} {1 0} {1 1}]")
	l, err := r.Items(t.Context(), View{Viewer: owner, Ticks: tick}, ItemQuery{State: Open})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "people", describe(l.People), "ann@example.com Ann Lee 0/0 0s 0/0 +2-1")
	expect(t, "nobody", l.Nobody.Done, 3)
	expect(t, "owners", l.Owners[l.Keys[0]], "ann@example.com")
	found, err := a.FindActionItems(t.Context(), []string{"CALL", "2"})
	expect(t, "found", fmt.Sprint(found, err), "map[{2 0}:true] <nil>")
	rows, err := a.ActionItemsAt(t.Context(), l.Keys)
	expect(t, "rows", fmt.Sprintln(len(rows), rows[l.Keys[0]].Description, err), "2 Call 3 <nil>\n")
}

func TestCalendarCountsDaysOfAZone(t *testing.T) {
	r, _ := newRoster(t)
	zone := time.FixedZone("east", 14*3600) // 10:00 UTC is the next day
	c, err := r.Calendar(t.Context(), View{Viewer: archive.ViewerWith("bob@example.com")}, time.Date(2026, 1, 1, 0, 0, 0, 0, zone), time.Date(2026, 1, 7, 0, 0, 0, 0, zone))
	if err != nil || len(c.Days) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	expect(t, "the day", c.Days[time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)], "{1 1h0m0s}")
	expect(t, "the newest", c.Newest.Format(time.DateOnly), "2026-01-07")
}

// TestCountsAreTheArchives compares the counts of the meetings that viewers see with the database's,
// also after a recording arrived.
func TestCountsAreTheArchives(t *testing.T) {
	r, a := newRoster(t)
	for _, step := range []func() error{
		func() error { return nil },
		func() error {
			b, err := a.Media().Put(t.Context(), strings.NewReader("a recording"))
			if err != nil {
				return err
			}
			return a.AttachMedia(t.Context(), 1, archive.MediaVideo, b)
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		for _, viewer := range []archive.Viewer{{All: true}, archive.ViewerWith("bob@example.com"), archive.ViewerWith("nobody@example.com")} {
			c, err := r.Count(t.Context(), View{Viewer: viewer})
			if err != nil {
				t.Fatal(err)
			}
			want, err := a.CountsFor(t.Context(), viewer)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, fmt.Sprint("the counts of ", viewer), c, fmt.Sprintf("{%d %d %d}", want.Meetings, want.WithTranscript, want.WithRecording))
		}
	}
}

func TestNewsAreOfVisibleMeetings(t *testing.T) {
	r, a := newRoster(t)
	ctx, bobs := t.Context(), View{Viewer: archive.ViewerWith("bob@example.com")}
	ids := func(v View, after archive.Position) (all []string, total int, until archive.Position) {
		news, total, until, err := r.News(ctx, v, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range news {
			all = append(all, fmt.Sprint(n.RecordingID, n.IsNew))
		}
		slices.Sort(all)
		return all, total, until
	}
	all, _, until := ids(bobs, archive.Position{})
	expect(t, "at first", all, "[1 true 2 true]")
	head, _ := a.Head(ctx)
	expect(t, "until", until, head)
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), meetingOn(3, "2026-02-07", "cy"), meetingOn(2, "2026-01-07", "bob"), meetingOn(5, "2025-01-07", "bob"))
	all, total, _ := ids(bobs, until)
	expect(t, "later", fmt.Sprint(all, total), "[2 false 5 true] 2")
	all, _, _ = ids(bobs, archive.Position{Epoch: "before a restore", Seq: 1 << 40})
	expect(t, "of another epoch", all, "[1 true 2 true 5 true]")
}

// TestQuestionsWhileMeetingsArrive asks from several sides while the archive grows: each
// answer is whole, and no meeting goes missing from one to the next.
func TestQuestionsWhileMeetingsArrive(t *testing.T) {
	r, a := newRoster(t)
	ctx, cancel := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	defer askers.Wait()
	defer cancel()
	askers.Go(func() { _ = r.Follow(ctx) }) // it ends with the context
	for range 2 {
		askers.Go(func() {
			for before := 0; ctx.Err() == nil; {
				_, total, _, err := r.News(ctx, View{Viewer: owner}, archive.Position{}, 1)
				if ctx.Err() == nil && (err != nil || total < before) {
					t.Errorf("%d meetings after %d: %v", total, before, err)
					return
				}
				before = total
			}
		})
	}
	for id := range int64(20) {
		archivetest.Apply(t, a, archivetest.Epoch, meetingOn(10+id, "2026-03-05", "bob"))
		if _, total, _, err := r.News(t.Context(), View{Viewer: owner}, archive.Position{}, 1); err != nil || total != int(4+id) {
			t.Fatalf("%d meetings, %v; want %d", total, err, 4+id)
		}
	}
}

func TestFewAreListedAsAll(t *testing.T) {
	r, a := newRoster(t)
	for _, viewer := range []archive.Viewer{owner, archive.ViewerWith("bob@example.com"), archive.ViewerWith("x@example.com"), archive.ViewerWith()} {
		want, err := a.List(t.Context(), archive.ListQuery{Viewer: viewer, IncludeGone: true})
		if err != nil {
			t.Fatal(err)
		}
		for most := range 5 {
			few, err := r.Few(t.Context(), View{Viewer: viewer}, most)
			if err != nil {
				t.Fatal(err)
			}
			if (few == nil) != (len(want) > most) {
				t.Errorf("%v sees %d, and no more than %d are %v", viewer, len(want), most, few)
			}
			got, err := a.List(t.Context(), archive.ListQuery{Viewer: viewer, IncludeGone: true, Among: few})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "the list", ids(got), ids(want))
		}
		// Among gives no rights.
		got, err := a.List(t.Context(), archive.ListQuery{Viewer: viewer, IncludeGone: true, Among: []int64{1, 2, 3, 99}})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "the list among all", ids(got), ids(want))
	}
}

func ids(rows []*archive.Row) (all []int64) {
	for _, row := range rows {
		all = append(all, row.RecordingID)
	}
	return all
}

// TestAnInterruptedQuestionLeavesTheRoster follows a change for a viewer who goes away
// meanwhile: the others go on to be answered from the meetings that were there.
func TestAnInterruptedQuestionLeavesTheRoster(t *testing.T) {
	r, a := newRoster(t)
	want := r.people(t, View{Viewer: owner})
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), meetingOn(2, "2026-01-06", "zoe"))
	changes, err := a.Changes(t.Context(), r.at, batch)
	if err != nil || len(changes) == 0 {
		t.Fatalf("changes %v, %v", changes, err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := r.follow(gone, changes); !errors.Is(err, context.Canceled) {
		t.Fatalf("the viewer has gone, and the question ends with %v", err)
	}
	if len(r.order) != 3 || !r.loaded {
		t.Errorf("the roster has %d meetings", len(r.order))
	}
	if got := r.people(t, View{Viewer: owner}); got == want || len(r.order) != 3 {
		t.Errorf("the next question finds the people as they were: %s", got)
	}
}
