package notes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"minutebook/archive/archivetest"
)

// people are the authors of two archives with other ids for the same people.
func people(ids map[int64]string) Authors {
	return Authors{
		Address: func(_ context.Context, person int64) (string, error) { return ids[person], nil },
		Person: func(_ context.Context, address string) (int64, error) {
			for id, a := range ids {
				if a == address {
					return id, nil
				}
			}
			return Owner, nil
		},
	}
}

// A meeting is forgotten before the notes about it are erased: an export in between has
// none of them.
func TestLinesHaveNothingOfAMeetingThatIsBeingForgotten(t *testing.T) {
	a := archivetest.WithMeetings(t, 2)
	var d *DB
	var out bytes.Buffer
	a.OnForget("earlier than the notes", func(ctx context.Context, _ int64) error {
		return d.WriteLines(ctx, &out, nil, true, Authors{})
	})
	d = openNotes(t, a)
	for id := range int64(2) {
		d.add(t, Owner, id+1, "said", false)
		check(t, d.Tick(t.Context(), Owner, Item{id + 1, -1, "Call"}))
	}
	_, err := a.Forget(t.Context(), 2, "asked for")
	check(t, err)
	if n := strings.Count(out.String(), `"recording_id":1`); n != 2 || strings.Contains(out.String(), `"recording_id":2`) {
		t.Errorf("exported meanwhile:\n%s", &out)
	}
}

func TestExportReadsBack(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 2))
	d.add(t, ann, 1, "private <words>\nof Ann", true)
	d.add(t, bob, 2, "shared", false)
	_, err := d.Add(ctx, Note{RecordingID: 1, At: -1, Text: "whole", Person: Owner})
	check(t, err)
	check(t, d.Tick(ctx, bob, Item{1, 30500 * time.Millisecond, "Call"}))
	check(t, d.Tick(ctx, bob, Item{2, -1, "Call"}))
	_, err = d.Merge(ctx, ann, "Ann", "ann@example.com")
	check(t, err)
	_, err = d.KeepApart(ctx, ann, "Bob", "Bobby")
	check(t, err)
	_, err = d.Save(ctx, bob, "Prices", "price")
	check(t, err)
	authors := people(map[int64]string{ann: "ann@example.com", bob: "bob@example.com"})
	var out, again bytes.Buffer
	check(t, d.WriteLines(ctx, &out, nil, true, authors))

	back := openNotes(t, archivetest.WithMeetings(t, 2))
	others := people(map[int64]string{8: "ann@example.com", 9: "bob@example.com"})
	for _, added := range []int{8, 0} {
		sum, err := back.ReadLines(ctx, strings.NewReader(out.String()), others)
		if err != nil || sum.Read != 8 || sum.New != added || sum.Skipped != 0 || len(sum.Wrong) != 0 {
			t.Fatalf("read back %+v, %v", sum, err)
		}
	}
	check(t, back.WriteLines(ctx, &again, nil, true, others))
	if again.String() != out.String() {
		t.Errorf("exported again:\n%s\nwas\n%s", &again, &out)
	}
	if own, err := back.ForMeeting(ctx, 8, 1); err != nil || len(own) != 2 {
		t.Errorf("Ann's notes: %v, %v", own, err)
	}
	var part bytes.Buffer
	check(t, d.WriteLines(ctx, &part, []int64{2}, false, authors))
	if n := strings.Count(part.String(), "\n"); n != 2 || strings.Contains(part.String(), "of Ann") {
		t.Errorf("of one meeting:\n%s", &part)
	}
	small := openNotes(t, archivetest.WithMeetings(t, 1))
	sum, err := small.ReadLines(ctx, strings.NewReader(out.String()+"\n{}\nnonsense\n"+`{"person":{"names":["x"]}}`), Authors{})
	if err != nil || sum.Skipped != 2 || len(sum.Wrong) != 3 {
		t.Errorf("into a smaller archive: %+v, %v", sum, err)
	}
}

// TestNothingComesToOthersThanItsAuthor reads lines of somebody who was removed, and of
// somebody who is not known yet, twice: before and after a person is added.
func TestNothingComesToOthersThanItsAuthor(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 1))
	d.add(t, ann, 1, "of all", false)
	d.add(t, ann, 1, "hidden", true)
	d.add(t, bob, 1, "shared", false)
	d.add(t, bob, 1, "private", true)
	_, err := d.Save(ctx, bob, "Prices", "price")
	check(t, err)
	check(t, d.Tick(ctx, bob, Item{1, -1, "Call"}))
	_, err = d.Merge(ctx, bob, "Ann", "ann@example.com")
	check(t, err)
	var out bytes.Buffer
	check(t, d.WriteLines(ctx, &out, nil, true, people(map[int64]string{ann: Removed + "ann@example.com", bob: "bob@example.com"})))
	back := openNotes(t, archivetest.WithMeetings(t, 1))
	here := map[int64]string{8: "ann@example.com"}
	for _, want := range []Imported{{Read: 7, New: 3, Unknown: 4}, {Read: 7, Unknown: 4}, {Read: 7, New: 3, Unknown: 1}} {
		got, err := back.ReadLines(ctx, strings.NewReader(out.String()), people(here))
		check(t, err)
		expect(t, "read", got, want)
		if want.New == 0 {
			here[9] = "bob@example.com"
		}
	}
	for person, want := range map[int64]string{Owner: "shared, of all", 8: "shared, of all", 9: "private, shared, of all"} {
		all, err := back.all(ctx, person)
		expect(t, "notes", texts(t, all, err), want)
	}
	if sum, err := d.ReadLines(ctx, strings.NewReader(out.String()), people(map[int64]string{bob: "bob@example.com"})); err != nil || sum.New != 0 || sum.Unknown != 1 {
		t.Errorf("into the same archive: %+v, %v", sum, err)
	}
}

// TestNoSavedSearchIsLostWithoutAWord reads saved searches for which there is no place: the name
// is that of another query here, or the author has as many as there may be.
func TestNoSavedSearchIsLostWithoutAWord(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 1))
	_, err := d.Save(ctx, Owner, "Prices", "price")
	check(t, err)
	for _, want := range []error{ErrExists, ErrMany} {
		sum, err := d.ReadLines(ctx, strings.NewReader(`{"saved_search":{"name":"Prices","query":"price"}}`+"\n"+
			`{"saved_search":{"name":"`+map[error]string{ErrExists: "Prices", ErrMany: "Offers"}[want]+`","query":"price team:Sales"}}`), Authors{})
		check(t, err)
		if sum.New != 0 || len(sum.Wrong) != 1 || sum.Wrong[0].Line != 2 || !errors.Is(sum.Wrong[0].Err, want) {
			t.Errorf("read %+v; want line 2 left out: %v", sum, want)
		}
		for i := range maxSaved - 1 {
			_, err := d.Save(ctx, Owner, fmt.Sprint(i), "price")
			check(t, err)
		}
	}
}

// TestAnOlderExportHasNoNameOfAForgottenMeeting reads lines from before a meeting was forgotten
// that alone had a name.
func TestAnOlderExportHasNoNameOfAForgottenMeeting(t *testing.T) {
	ctx, a := t.Context(), archivetest.WithMeetings(t, 2)
	d := openNotes(t, a)
	for _, names := range [][]string{{"Xylophonist", "ann@example.com"}, {"Ann", "ann@example.com", "Xylophonist"}} {
		_, err := d.Merge(ctx, Owner, names...)
		check(t, err)
	}
	var out bytes.Buffer
	check(t, d.WriteLines(ctx, &out, nil, true, Authors{}))
	_, err := a.Forget(ctx, 1, "asked for")
	check(t, err)
	for range 2 {
		sum, err := d.ReadLines(ctx, bytes.NewReader(out.Bytes()), Authors{})
		check(t, err)
		expect(t, "read", sum, Imported{Read: 2, Skipped: 1})
	}
	g, err := d.Groups(ctx)
	check(t, err)
	expect(t, "names", g.All(), [][]string{{"Ann", "ann@example.com"}})
}

// hooked reads parts, each after its step.
type hooked struct {
	parts []string
	steps []func()
}

func (h *hooked) Read(p []byte) (int, error) {
	if len(h.parts) == 0 {
		return 0, io.EOF
	}
	h.steps[0]()
	n := copy(p, h.parts[0])
	h.parts, h.steps = h.parts[1:], h.steps[1:]
	return n, nil
}

// TestAnImportKnowsWhatHappensBetweenItsLines merges a person and forgets a meeting between lines.
func TestAnImportKnowsWhatHappensBetweenItsLines(t *testing.T) {
	ctx, a := t.Context(), archivetest.WithMeetings(t, 2)
	d := openNotes(t, a)
	line := func(name, address string) string {
		return fmt.Sprintf(`{"person":{"names":[%q,%q],"same":true,"judged_at":"2026-03-01T09:00:00Z"}}`+"\n", name, address)
	}
	sum, err := d.ReadLines(ctx, &hooked{
		[]string{line("Ann", "ann@example.com"), line("Bob", "bob@example.com"), line("Xylophonist", "ann@example.com")},
		[]func(){func() {}, func() {
			_, err := d.Merge(ctx, Owner, "Bob", "bob@example.com")
			check(t, err)
		}, func() {
			_, err := a.Forget(ctx, 1, "asked for")
			check(t, err)
		}},
	}, Authors{})
	check(t, err)
	expect(t, "read", sum, Imported{Read: 3, New: 1, Skipped: 1})
}

// TestAnInterruptedImportShowsItsLines fails after a tick and a merge.
func TestAnInterruptedImportShowsItsLines(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 1))
	for range 2 {
		ticks, err := d.AllTicks(ctx)
		check(t, err)
		g, err := d.Groups(ctx)
		check(t, err)
		if len(ticks) > 0 && len(g.Same("Ann")) == 2 {
			return
		}
		_, err = d.ReadLines(ctx, strings.NewReader(`{"tick":{"recording_id":1,"seconds":null,"text":"Call","ticked_at":"2026-03-01T09:00:00Z"}}
{"person":{"names":["Ann","ann@example.com"],"same":true,"judged_at":"2026-03-01T09:00:00Z"}}
{"tick":{"recording_id":1,"seconds":null,"text":"Ask","author":"bob@example.com","ticked_at":"2026-03-01T09:00:00Z"}}`),
			Authors{Person: func(context.Context, string) (int64, error) { return Owner, context.Canceled }})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	t.Error("the tick and the merge do not show")
}

// FuzzReadLines: whatever the lines of an export hold, each counts once, and the rows that
// they leave are exported, and read back without a difference.
func FuzzReadLines(f *testing.F) {
	f.Add([]byte(`{"note":{"recording_id":1,"seconds":60.0005,"text":"a\u2028b","private":true,"created_at":"2026-03-01T09:00:00Z","changed_at":"0001-01-01T00:00:00Z"}}
{"tick":{"recording_id":2,"seconds":null,"text":"Call","ticked_at":"9999-12-31T23:59:59.999999999-12:00"}}`))
	f.Add([]byte(`{"person":{"names":["Ann","ann@example.com"],"same":true}}
{"saved_search":{"name":" x ","query":"price","created_at":"2026-03-01T09:00:00+02:00"}}
{"note":{"recording_id":9}}`))
	f.Add([]byte("nonsense\n\n{}\n{\"note\":{\"recording_id\":1,\"seconds\":1e300,\"text\":\"\\u0000\"}}"))
	d, back := openNotes(f, archivetest.WithMeetings(f, 2)), openNotes(f, archivetest.WithMeetings(f, 2))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx := t.Context()
		for _, db := range []*DB{d, back} {
			for _, table := range []string{"notes", "ticks", "judged_names", "judgements", "saved_searches"} {
				_, err := db.db.W.ExecContext(ctx, "DELETE FROM "+table)
				check(t, err)
			}
			db.dropCaches()
		}
		sum, err := d.ReadLines(ctx, bytes.NewReader(raw), Authors{})
		check(t, err)
		var out, again bytes.Buffer
		check(t, d.WriteLines(ctx, &out, nil, true, Authors{}))
		rows := bytes.Count(out.Bytes(), []byte("\n"))
		if sum.New != rows || sum.New+sum.Skipped+len(sum.Wrong) > sum.Read {
			t.Fatalf("%q: %+v left\n%s", raw, sum, &out)
		}
		for _, added := range []int{rows, 0} {
			if sum, err := back.ReadLines(ctx, bytes.NewReader(out.Bytes()), Authors{}); err != nil || sum.New != added || sum.Read != rows || sum.Skipped+len(sum.Wrong) > 0 {
				t.Fatalf("%q left\n%s, of which is read %+v, %v", raw, &out, sum, err)
			}
		}
		check(t, back.WriteLines(ctx, &again, nil, true, Authors{}))
		if again.String() != out.String() {
			t.Fatalf("%q left\n%s, which is exported again as\n%s", raw, &out, &again)
		}
	})
}
