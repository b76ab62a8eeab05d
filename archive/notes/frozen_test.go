package notes

import (
	"path/filepath"
	"testing"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/internal/residue"
	"minutebook/internal/sqlite/frozen"
)

// TestEveryFrozenNotesAreUpgraded opens notes.db as earlier versions left it: the schema is
// then that of a new one, and all that people have added is there.
func TestEveryFrozenNotesAreUpgraded(t *testing.T) {
	fresh := openNotes(t, archivetest.New(t))
	frozen.Each(t, func(t *testing.T, file, dir string) {
		d := openNotes(t, archivetest.Open(t, dir))
		frozen.Compare(t, file, d.db, fresh.db, "note_words", "note_words_config", "note_words_data", "note_words_docsize", "note_words_idx")
		if damages, err := d.Check(t.Context(), false); err != nil || len(damages) > 0 {
			t.Errorf("damages %v, %v", damages, err)
		}
	})
}

// TestNoWordOfAnEarlierIndexIsLeft forgets a meeting of the first release, whose notes.db has the
// words of notes a second time, without their accents.
func TestNoWordOfAnEarlierIndexIsLeft(t *testing.T) {
	dir := frozen.Directory(t, "0.9.0")
	const word = "decodage"
	if files := residue.Find(t, word, dir); len(files) != 1 || filepath.Base(files[0]) != Name {
		t.Fatalf("before the upgrade the word is in %v", files)
	}
	a := archivetest.Open(t, dir)
	openNotes(t, a)
	_, err := a.Forget(t.Context(), 400144927, "test")
	check(t, err)
	if files := residue.Find(t, word, dir); files != nil {
		t.Errorf("the word is left in %v", files)
	}
}

// TestNotesOfTheFirstRelease: notes are read by whom they were with 0.9.0, and the
// feed's address and the notifications go on.
func TestNotesOfTheFirstRelease(t *testing.T) {
	ctx, d := t.Context(), openNotes(t, archivetest.Open(t, frozen.Directory(t, "0.9.0")))
	const maren, priya, platform = 1, 2, 400144927
	got, err := d.ForMeeting(ctx, priya, platform)
	expect(t, "priya's notes", texts(t, got, err), "Split it in two: décodage before storage., Fifteen weeks: ask Jonas about the queue.")
	got, err = d.ForMeeting(ctx, maren, platform)
	expect(t, "maren's notes", texts(t, got, err), "Fifteen weeks: ask Jonas about the queue.")
	ticks, err := d.AllTicks(ctx)
	check(t, err)
	item := Item{platform, 796 * time.Second, "Split ingestion: alarms decided before and independent of storage, four weeks (PLAT-870)"}
	expect(t, "who ticked", ticks[item].Person, int64(priya))
	groups, err := d.Groups(ctx)
	check(t, err)
	expect(t, "one person", groups.Same("pri raman"), []string{"priya.raman@tidewell.example", "priya@old.example", "Pri Raman"})
	expect(t, "two persons", groups.Apart("Lucía Ferrer", "Lucía F."), true)
	s, err := d.ByFeed(ctx, "jpUe_PaMmnbxEYigqefuVK_UETFTUgMqb10YULjxKfY")
	check(t, err)
	expect(t, "the feed", s.Name, "Pilots")
	expect(t, "the secret of notifications", s.Secret, "whsec_+GS3navgsjKIKZVJRLAdUZ+gXu4ryS68u1UrE4gfiIU=")
	expect(t, "last changed", s.ChangedAt, s.CreatedAt)
	notified, err := d.Notified(ctx, s.ID, []int64{601327096, 772592125, platform})
	check(t, err)
	expect(t, "notified", notified, map[int64]bool{601327096: true, 772592125: true})
	_, looked, err := d.Looked(ctx, maren)
	check(t, err)
	expect(t, "has looked", looked.IsZero(), false)
}
