package notes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/residue"
)

const (
	ann int64 = 1
	bob int64 = 2
)

// openNotes opens notes.db over an archive.
func openNotes(t testing.TB, a *archive.Archive) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Archive: a})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// add adds a note, at minute 1.
func (d *DB) add(t *testing.T, person, meeting int64, text string, private bool) Note {
	t.Helper()
	n, err := d.Add(t.Context(), Note{RecordingID: meeting, At: time.Minute, Text: text, Private: private, Person: person})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// all returns the notes that a person reads, the newest first.
func (d *DB) all(ctx context.Context, person int64) ([]Note, error) {
	return d.list(ctx, readableTerm+` ORDER BY n.id DESC`, person)
}

// texts returns the texts of notes.
func texts(t *testing.T, notes []Note, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range notes {
		all = append(all, n.Text)
	}
	return strings.Join(all, ", ")
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, name string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func TestPrivateNotesAreTheirAuthors(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 2))
	shared := d.add(t, ann, 1, "Árvíztűrő shared", false)
	private := d.add(t, ann, 1, "Árvíztűrő secret", true)
	d.add(t, bob, 2, "other words", true)
	for _, tt := range []struct {
		person       int64
		meeting, all string
	}{
		{ann, "Árvíztűrő shared, Árvíztűrő secret", "Árvíztűrő secret, Árvíztűrő shared"},
		{bob, "Árvíztűrő shared", "other words, Árvíztűrő shared"},
		{Owner, "Árvíztűrő shared", "Árvíztűrő shared"},
	} {
		got, err := d.ForMeeting(ctx, tt.person, 1)
		expect(t, "of the meeting", texts(t, got, err), tt.meeting)
		got, err = d.all(ctx, tt.person)
		expect(t, "all", texts(t, got, err), tt.all)
		var each []string
		check(t, d.EachText(ctx, tt.person, 0, func(id int64, at time.Duration, text string) {
			if id < 1 || at != time.Minute {
				t.Errorf("%q is of meeting %d at %v", text, id, at)
			}
			each = append(each, text)
		}))
		slices.Reverse(each)
		expect(t, "for a search", strings.Join(each, ", "), tt.all)
		each = nil
		check(t, d.EachText(ctx, tt.person, 1, func(_ int64, _ time.Duration, text string) { each = append(each, text) }))
		expect(t, "for a search in a meeting", strings.Join(each, ", "), tt.meeting)
	}
	if _, err := d.Note(ctx, bob, private.ID); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("another's private note: %v", err)
	}
	for _, id := range []int64{shared.ID, private.ID} {
		for name, err := range map[string]error{"change": d.Change(ctx, bob, id, "x", false, time.Time{}), "delete": d.Delete(ctx, bob, id, time.Time{})} {
			if !errors.Is(err, archive.ErrNotFound) {
				t.Errorf("%s another's note: %v", name, err)
			}
		}
	}
	check(t, d.Change(ctx, ann, private.ID, " told at last\r\n", false, time.Time{}))
	got, err := d.all(ctx, bob)
	expect(t, "after the change", texts(t, got, err), "other words, told at last, Árvíztűrő shared")
	check(t, d.Delete(ctx, ann, private.ID, time.Time{}))
	if _, err := d.Add(ctx, Note{RecordingID: 3, Text: "x"}); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("note on a meeting that is not there: %v", err)
	}
	if _, err := d.Add(ctx, Note{RecordingID: 1, Text: " \n"}); !errors.Is(err, ErrText) {
		t.Errorf("empty note: %v", err)
	}
}

func TestTicksNameAnItemByMeetingTimeAndText(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.WithMeetings(t, 2))
	item := Item{1, 30 * time.Second, "Call"}
	check(t, d.Tick(ctx, ann, item))
	check(t, d.Tick(ctx, bob, item)) // it stays Ann's
	check(t, d.Tick(ctx, bob, Item{2, -1, "Call"}))
	all, err := d.Ticks(ctx, nil)
	check(t, err)
	if len(all) != 2 || all[item].Person != ann || !all[item].TickedAt.Equal(archivetest.Epoch) {
		t.Errorf("ticks %v", all)
	}
	check(t, d.Untick(ctx, item))
	if left, err := d.Ticks(ctx, []int64{1}); err != nil || len(left) != 0 {
		t.Errorf("after opening it again: %v, %v", left, err)
	}
	if err := d.Tick(ctx, ann, Item{RecordingID: 7}); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("item of a meeting that is not there: %v", err)
	}
}

func TestMergesJoinAndComeApart(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.New(t))
	groups := func() *Groups {
		g, err := d.Groups(ctx)
		check(t, err)
		return g
	}
	merge := func(names ...string) Judgement {
		j, err := d.Merge(ctx, ann, names...)
		check(t, err)
		return j
	}
	first := merge("Ann Lee", "ANN@example.com")
	merge("Bo", "bo@example.com")
	bridge := merge("ann@example.com", "A. Lee", "bo@example.com")
	expect(t, "joined", groups().Same("ann lee"), []string{"Ann Lee", "ann@example.com", "A. Lee", "Bo", "bo@example.com"})
	expect(t, "judgements", len(groups().JudgementsOf("Bo")), 3)
	check(t, d.Undo(ctx, bridge.ID))
	expect(t, "apart again", groups().Same("Bo"), []string{"Bo", "bo@example.com"})
	expect(t, "still one", groups().Same("Ann Lee"), []string{"Ann Lee", "ann@example.com"})
	check(t, d.Undo(ctx, first.ID))
	expect(t, "alone", groups().Same("Ann Lee"), []string{"Ann Lee"})
	if _, err := d.KeepApart(ctx, ann, "Bo", "Bo Derek"); err != nil || !groups().Apart("bo derek", "bo") || groups().Apart("Bo", "x") {
		t.Errorf("kept apart: %v", err)
	}
	for _, wrong := range [][]string{{"x"}, {"x", " x "}, {"x", ""}, {"x", strings.Repeat("y", maxName+1)}} {
		if _, err := d.Merge(ctx, ann, wrong...); !errors.Is(err, ErrNames) {
			t.Errorf("merge %q: %v", wrong, err)
		}
	}
	if err := d.Undo(ctx, first.ID); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("undone twice: %v", err)
	}
}

func TestSavedSearchesKeepTheirSecretsHashed(t *testing.T) {
	a := archivetest.WithMeetings(t, 1)
	ctx, d := t.Context(), openNotes(t, a)
	s, err := d.Save(ctx, ann, " Prices ", "price OR cost")
	check(t, err)
	if head, _ := a.Head(ctx); s.Name != "Prices" || s.Seen != head {
		t.Errorf("saved %+v", s)
	}
	if _, err := d.Save(ctx, ann, "Prices", "x"); !errors.Is(err, ErrExists) {
		t.Errorf("the same name: %v", err)
	}
	secret, err := d.MakeFeed(ctx, ann, s.ID, time.Time{})
	check(t, err)
	got, err := d.ByFeed(ctx, secret)
	check(t, err)
	expect(t, "by its feed", []any{got.ID, got.HasFeed}, []any{s.ID, true})
	check(t, a.DB().TruncateWAL(ctx))
	if files := residue.Find(t, secret, a.Dir()); files != nil {
		t.Errorf("the feed's secret lies in %v", files)
	}
	newer, err := d.MakeFeed(ctx, ann, s.ID, time.Time{})
	check(t, err)
	if _, err := d.ByFeed(ctx, secret); !errors.Is(err, archive.ErrNotFound) || newer == secret {
		t.Errorf("the old secret: %v", err)
	}
	for _, wrong := range []string{"ftp://x/y", "mailto:", "mailto:Ann <a@b.c>", "https://", "x"} {
		if _, err := d.SetNotify(ctx, ann, s.ID, wrong, time.Time{}); !errors.Is(err, ErrAddress) {
			t.Errorf("notify %q: %v", wrong, err)
		}
	}
	signing, err := d.SetNotify(ctx, ann, s.ID, "https://hooks.example.com/x", time.Time{})
	check(t, err)
	s, err = d.ByNotify(ctx, s.ID)
	check(t, err)
	s.Seen = archive.Position{Epoch: "e", Seq: 7}
	check(t, d.SetSeen(ctx, s))
	notified, err := d.SavedWithNotify(ctx)
	check(t, err)
	if len(notified) != 1 || !strings.HasPrefix(signing, "whsec_") || notified[0].Secret != signing || notified[0].Seen.Seq != 7 {
		t.Errorf("notified %+v", notified)
	}
	for name, err := range map[string]error{"delete": d.DeleteSaved(ctx, bob, s.ID, time.Time{}), "feed": d.EndFeed(ctx, bob, s.ID, time.Time{})} {
		if !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s of another's search: %v", name, err)
		}
	}
	check(t, d.EndFeed(ctx, ann, s.ID, time.Time{}))
	check(t, d.DeleteSaved(ctx, ann, s.ID, time.Time{}))
	if left, err := d.Saved(ctx, ann); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestEndsOfAnEarlierAddressDoNothing ends and moves notifications by a search that was
// read before the person changed it, which keeps the change, and by one as it is.
func TestEndsOfAnEarlierAddressDoNothing(t *testing.T) {
	a := archivetest.WithMeetings(t, 1)
	ctx, d := t.Context(), openNotes(t, a)
	const home, work = "mailto:ann@home.example", "mailto:ann@work.example"
	var saved [4]SavedSearch
	for i, address := range []string{home, home, work, home} {
		var err error
		person := ann
		if i == 3 {
			person = bob
		}
		saved[i], err = d.Save(ctx, person, fmt.Sprint(i), "price")
		check(t, err)
		_, err = d.SetNotify(ctx, person, saved[i].ID, address, time.Time{})
		check(t, err)
		saved[i], err = d.ByNotify(ctx, saved[i].ID)
		check(t, err)
	}
	addresses := func() (all []string) {
		list, err := d.listSaved(ctx, "1 ORDER BY id")
		check(t, err)
		for _, s := range list {
			all = append(all, s.Notify)
		}
		return all
	}
	for name, change := range map[string]func() error{
		"another address": func() error { _, err := d.SetNotify(ctx, ann, saved[0].ID, work, time.Time{}); return err },
		"the same again":  func() error { _, err := d.SetNotify(ctx, ann, saved[0].ID, home, time.Time{}); return err },
	} {
		check(t, change())
		before := addresses()
		for end, fn := range map[string]func(context.Context, SavedSearch) error{"EndNotify": d.EndNotify, "EndNotifyAll": d.EndNotifyAll, "SetSeen": d.SetSeen} {
			if err := fn(ctx, saved[0]); !errors.Is(err, archive.ErrNotFound) {
				t.Errorf("%s after %s: %v", end, name, err)
			}
			expect(t, end+" after "+name, addresses(), before)
		}
	}
	check(t, d.ChangeSaved(ctx, ann, saved[1].ID, "1", "cost", time.Time{}))
	if err := d.SetSeen(ctx, saved[1]); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("SetSeen of another query: %v", err)
	}
	_, err := d.SetNotify(ctx, ann, saved[0].ID, home, time.Time{})
	check(t, err)
	check(t, d.EndNotifyAll(ctx, saved[1]))
	expect(t, "after the end of ann's address", addresses(), []string{"", "", work, home})
	check(t, d.EndNotify(ctx, saved[2]))
	expect(t, "after the end of one", addresses(), []string{"", "", "", home})
}

func TestLookedIsRememberedByPerson(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.New(t))
	for seq := range int64(2) {
		check(t, d.SetLooked(ctx, ann, archive.Position{Epoch: "e", Seq: seq}))
	}
	p, at, err := d.Looked(ctx, ann)
	expect(t, "looked", fmt.Sprint(p, at, err), fmt.Sprint(archive.Position{Epoch: "e", Seq: 1}, archivetest.Epoch, nil))
	if p, at, err := d.Looked(ctx, bob); err != nil || p != (archive.Position{}) || !at.IsZero() {
		t.Errorf("never looked: %v %v %v", p, at, err)
	}
}

func TestBackupNamesNotesDB(t *testing.T) {
	a := archivetest.New(t)
	openNotes(t, a)
	files, err := a.DatabaseFiles(t.Context())
	if err != nil || !slices.Contains(files, filepath.Join(a.Dir(), Name)) {
		t.Errorf("databases %v, %v", files, err)
	}
}

// TestNotifiedMeetings keeps which meetings were notified with their search, and drops
// those that are forgotten.
func TestNotifiedMeetings(t *testing.T) {
	a := archivetest.WithMeetings(t, 3)
	d := openNotes(t, a)
	saved, err := d.Save(t.Context(), ann, "All", "meeting")
	check(t, err)
	check(t, d.SetNotified(t.Context(), saved.ID, 1, 2))
	check(t, d.SetNotified(t.Context(), saved.ID, 2, 99)) // 99 was never there
	if _, err := a.Forget(t.Context(), 1, "test"); err != nil {
		t.Fatal(err)
	}
	check(t, d.SetNotified(t.Context(), saved.ID, 1)) // too late
	notified, err := d.Notified(t.Context(), saved.ID, []int64{1, 2, 3, 99})
	check(t, err)
	expect(t, "notified meetings", notified, map[int64]bool{2: true})
	check(t, d.DeleteSaved(t.Context(), ann, saved.ID, time.Time{}))
	if err := d.SetNotified(t.Context(), saved.ID, 2); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a deleted search: %v", err)
	}
	notified, err = d.Notified(t.Context(), saved.ID, []int64{2})
	check(t, err)
	expect(t, "after the search is deleted", len(notified), 0)
}
