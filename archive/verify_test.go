package archive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// damageDatabase changes the database as no connection of the archive would.
func damageDatabase(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := sqlite.Connect(path, "?_foreign_keys=0&_busy_timeout=5000", nil)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func verify(t *testing.T, a *Archive, o VerifyOptions) (Verified, []Damage) {
	t.Helper()
	var damages []Damage
	v, err := a.Verify(t.Context(), o, func(d Damage) {
		if d.Class != DamageMode || d.Path != a.dir { // a test's own directory is 0755
			damages = append(damages, d)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return v, damages
}

func TestVerifyFindsNothingInAWellArchive(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	for _, name := range []string{"@eaDir/x@SynoEAStream", ".DS_Store", "._abc", "partial/17"} {
		path := filepath.Join(a.dir, "media", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("side file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := dumpDatabase(t, a.db)
	v, damages := verify(t, a, VerifyOptions{})
	if damages != nil || v.ExitCode() != 0 || v.Meetings != 5 || v.Recordings != 1 || v.Revisions == 0 {
		t.Fatalf("%+v: %v", v, damages)
	}
	if after := dumpDatabase(t, a.db); len(after["entries"]) != len(before["entries"]) || !slices.Equal(before["meetings"], after["meetings"]) {
		t.Fatal("looking changed something")
	}
}

// TestVerifyNamesEveryDamage makes each class of damage, sees it named with its
// whole path, repairs it and finds nothing any more.
func TestVerifyNamesEveryDamage(t *testing.T) {
	testrun.SkipUnderRace(t)
	sql := func(statements ...string) func(*testing.T, *Archive) {
		return func(t *testing.T, a *Archive) { damageDatabase(t, a.db.Path, statements...) }
	}
	blob := func(t *testing.T, a *Archive) string {
		m, err := a.MediaOf(t.Context(), 2)
		if err != nil || len(m) != 1 {
			t.Fatal(m, err)
		}
		return media.Path(a.media, m[0].SHA256)
	}
	rewrite := func(t *testing.T, path, content string) {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	const crmOf3 = `(SELECT revision_id FROM parts WHERE recording_id = 3 AND part = 'crm_matches')`
	for name, c := range map[string]struct {
		damage   func(*testing.T, *Archive)
		class    DamageClass
		id       int64
		repaired bool
	}{
		"part body flipped":   {sql(`UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id = 1`), DamagePart, 1, true},
		"part body truncated": {sql(`UPDATE bodies SET encoding = 0, body = CAST('{"a":' AS BLOB) WHERE revision_id = 1`), DamagePart, 1, true},
		"part body other":     {sql(`UPDATE bodies SET encoding = 0, body = CAST('{"recording_id":1}' AS BLOB), size = 18 WHERE revision_id = 1`), DamagePart, 1, true},
		"part hash other":     {sql(`UPDATE revisions SET hash = zeroblob(32) WHERE id = 1`), DamagePart, 1, true},
		"part without origin": {sql(`DELETE FROM observations WHERE revision_id = 1`), DamagePart, 1, true},
		"bytes missing":       {sql(`DELETE FROM bodies WHERE revision_id = 1`), DamagePart, 1, true},
		"CRM bytes missing":   {sql(`DELETE FROM bodies WHERE revision_id = ` + crmOf3), DamagePart, 3, true},
		"CRM without origin":  {sql(`DELETE FROM observations WHERE revision_id = ` + crmOf3), DamagePart, 3, true},
		"file missing":        {func(t *testing.T, a *Archive) { os.Remove(blob(t, a)) }, DamageFileMissing, 0, true},
		"byte flipped":        {func(t *testing.T, a *Archive) { rewrite(t, blob(t, a), "a recording, of a kinD") }, DamageFile, 0, true},
		"file cut short":      {func(t *testing.T, a *Archive) { rewrite(t, blob(t, a), "a recor") }, DamageFile, 0, true},
		"directory for a file": {func(t *testing.T, a *Archive) {
			if err := errors.Join(os.Remove(blob(t, a)), os.Mkdir(blob(t, a), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, DamageFile, 0, true},
		"link to itself": {func(t *testing.T, a *Archive) {
			if err := errors.Join(os.Remove(blob(t, a)), os.Symlink(blob(t, a), blob(t, a))); err != nil {
				t.Fatal(err)
			}
		}, DamageFile, 0, false},
		"blob too many": {func(t *testing.T, a *Archive) {
			if _, err := a.media.Put(t.Context(), strings.NewReader("lone")); err != nil {
				t.Fatal(err)
			}
		}, DamageFileExtra, 0, true},
		"file too many": {func(t *testing.T, a *Archive) {
			if err := os.WriteFile(filepath.Join(a.dir, "media", "holiday.mp4"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, DamageFileExtra, 0, false},
		"rows other":            {sql(`UPDATE entries SET text = 'never said' WHERE id = 1 << 20`), DamageRows, 1, true},
		"row missing":           {sql(`DELETE FROM invitees WHERE recording_id = 3`), DamageRows, 3, true},
		"wrong part current":    {sql(`UPDATE parts SET revision_id = 1 WHERE part = 'meeting' AND recording_id = 1`), DamageRows, 1, true},
		"row without part":      {sql(`INSERT INTO meetings (recording_id, number) VALUES (77, 77)`), DamageNoPart, 77, true},
		"parts lost":            {sql(`DELETE FROM parts WHERE recording_id = 3`, `DELETE FROM sightings WHERE recording_id = 3`), DamageNoPart, 3, true},
		"foreign key":           {sql(`DELETE FROM speakers WHERE name = 'Bob'`), DamageForeignKey, 0, true},
		"forgetting incomplete": {sql(`INSERT INTO tombstones VALUES (99, 0, 0, '[]', NULL)`), DamageForgetting, 99, true},
		"forgotten still here":  {sql(`INSERT INTO tombstones VALUES (4, 0, 0, '[]', 1)`), DamageForgetting, 4, true},
		"page overwritten": {func(t *testing.T, a *Archive) {
			var page int64
			if err := a.db.W.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'invitees_by_email'`).Scan(&page); err != nil {
				t.Fatal(err)
			}
			if err := a.db.TruncateWAL(t.Context()); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(a.db.Path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(slices.Repeat([]byte{0xff}, 4000), (page-1)*4096+90); err != nil {
				t.Fatal(err)
			}
		}, DamageDatabase, 0, false},
		"delivery body": {func(t *testing.T, a *Archive) {
			if _, err := a.inbox.Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "m", Kind: inbox.KindWebhook, ReceivedAt: epoch0, Body: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
			if err := a.inbox.Settle(t.Context(), inbox.Outcome{ID: 1}); err != nil {
				t.Fatal(err)
			}
			damageDatabase(t, a.inbox.Path(), `UPDATE deliveries SET body = X'78'`)
		}, DamageDelivery, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := filledArchive(t)
			c.damage(t, a)
			if c.class == DamageDatabase { // pages are read anew
				dir := a.dir
				a.Close()
				a = openArchive(t, dir)
			}
			v, damages := verify(t, a, VerifyOptions{})
			if !slices.ContainsFunc(damages, func(d Damage) bool {
				return d.Class == c.class && (c.id == 0 || d.RecordingID == c.id) && (d.Path == "" || filepath.IsAbs(d.Path)) && !d.Repaired
			}) {
				t.Fatalf("found %v; want class %s, meeting %d", damages, c.class, c.id)
			}
			if v.ExitCode() != c.class.ExitCode() && !slices.ContainsFunc(damages, func(d Damage) bool { return d.Class.ExitCode() == v.ExitCode() }) {
				t.Errorf("exit code %d; want %d", v.ExitCode(), c.class.ExitCode())
			}
			verify(t, a, VerifyOptions{Repair: true})
			if quarantined, _ := filepath.Glob(filepath.Join(a.dir, "media", "damaged", "*")); name == "blob too many" && len(quarantined) != 1 {
				t.Error("the recording that no meeting has was not put aside")
			}
			if v, damages = verify(t, a, VerifyOptions{}); (len(damages) == 0) != c.repaired {
				t.Errorf("after repair: %v; want it gone: %t", damages, c.repaired)
			}
		})
	}
}

func TestRepairLeadsToFetchingAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	apply(t, a, listObservations("main", "", beginWalk(t, a, "main", "").Number, 2)...) // it is back
	damageDatabase(t, a.db.Path, `UPDATE bodies SET body = X'78' WHERE revision_id = (SELECT revision_id FROM parts WHERE recording_id = 3 AND part = 'transcript')`,
		`INSERT INTO downloads (recording_id, state, due_at) VALUES (2, 'done', 0)`)
	m, err := a.MediaOf(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(media.Path(a.media, m[0].SHA256))
	verify(t, a, VerifyOptions{Repair: true})
	row, err := a.Row(t.Context(), 3)
	if err != nil || row.HasTranscript || row.Entries != 0 || row.Title != "T" {
		t.Fatalf("row of the meeting with the lost transcript: %+v, %v", row, err)
	}
	if n, err := a.WantDownloads(t.Context(), 2); err != nil || n != 1 {
		t.Fatalf("queued %d recordings, %v; want the lost one", n, err)
	}
	got := apply(t, a, observe(t, SourceList, epoch0.Add(9*time.Hour), meetingJSON(3, "T", "hello 3")))
	if row, err = a.Row(t.Context(), 3); err != nil || !row.HasTranscript || len(got.Changed) != 1 {
		t.Fatalf("after the next sync: %+v, %v, %+v", row, err, got)
	}
}

// TestARepairThatEndsNamesNothingAfterIt ends a repair at the first of three damages.
func TestARepairThatEndsNamesNothingAfterIt(t *testing.T) {
	a := filledArchive(t)
	damageDatabase(t, a.db.Path, `UPDATE bodies SET body = X'78' WHERE revision_id IN (SELECT revision_id FROM parts WHERE part = 'transcript')`)
	ctx, end := context.WithCancel(t.Context())
	var found []Damage
	_, err := a.Verify(ctx, VerifyOptions{Repair: true}, func(d Damage) {
		found = append(found, d)
		end()
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the rest was neither checked nor repaired") || len(found) != 1 || strings.Contains(found[0].What, "could not") {
		t.Errorf("%v, %v", err, found)
	}
}

func TestCursorBeyondTheLogIsDamage(t *testing.T) {
	a := filledArchive(t)
	at, err := a.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for excess, want := range map[int64]bool{0: false, 5: true} {
		d, bad, err := a.CheckCursor(t.Context(), "index", a.dir, Position{at.Epoch, at.Seq + excess})
		if err != nil || bad != want || bad && d.Class != DamageCursor {
			t.Errorf("%d beyond the log: %+v, %v, %v", excess, d, bad, err)
		}
	}
	if _, bad, err := a.CheckCursor(t.Context(), "index", a.dir, Position{"another", at.Seq + 5}); bad || err != nil {
		t.Errorf("a cursor of another epoch: %v, %v", bad, err)
	}
}

// TestARecordingThatCannotBePutAsideStays repairs a damaged recording in whose place in
// media/damaged lies a directory.
func TestARecordingThatCannotBePutAsideStays(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
	b := withMedia(t, a, 1, "moving pictures")
	path := media.Path(a.media, b.SHA256)
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("moving pictureS"), 0o400),
		os.MkdirAll(filepath.Join(media.QuarantinePath(a.media, a.dir, b.SHA256), "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if v, damages := verify(t, a, VerifyOptions{Repair: true}); v.Damages[DamageFile] != 1 || v.Lost+v.Repaired > 0 {
		t.Errorf("%+v: %v", v, damages)
	}
	if m, err := a.MediaOf(t.Context(), 1); err != nil || len(m) != 1 {
		t.Errorf("the meeting has %v, %v", m, err)
	}
}

// TestADamagedDeliveryThatWasNotAppliedIsGivenUp repairs an inbox in which the bodies of
// deliveries have rotted that wait or are quarantined. The meeting is asked for again where its
// id can still be read, and lost else; the check is clean from then on.
func TestADamagedDeliveryThatWasNotAppliedIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		quarantined bool
		body        string // as it is after the damage
		shown       bool   // an account sees the meeting
		lost        bool
	}{
		"waiting": {false, `{"recording_id": 9, "titl?`, true, false}, "quarantined": {true, `{"recording_id": 9, "titl?`, true, false},
		"that nobody sees": {true, `{"recording_id": 9, "titl?`, false, true}, "without an id": {true, `{"recording_?d": 9`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := openArchive(t, t.TempDir())
			d := inbox.Delivery{Account: "main", WebhookID: "m", Kind: inbox.KindWebhook, ReceivedAt: epoch0, Body: []byte(`{"recording_id": 9, "title": "T"}`)}
			_, err := a.inbox.Put(t.Context(), d)
			if err == nil && c.quarantined {
				err = a.inbox.Quarantine(t.Context(), 1, "not understood")
			}
			if err != nil {
				t.Fatal(err)
			}
			damageDatabase(t, a.inbox.Path(), `UPDATE deliveries SET body = CAST('`+c.body+`' AS BLOB)`)
			ask := func(_ context.Context, id int64) (string, error) {
				if c.shown && id == 9 {
					return "main", nil
				}
				return "", nil
			}
			v, damages := verify(t, a, VerifyOptions{Repair: true, AskAgain: ask})
			if len(damages) != 1 || damages[0].Lost != c.lost || damages[0].Repaired == c.lost || (v.ExitCode() == LostCode) != c.lost {
				t.Fatalf("repaired: %v, exit code %d", damages, v.ExitCode())
			}
			if aside, err := os.ReadFile(damages[0].Aside); err != nil || string(aside) != c.body {
				t.Errorf("put aside: %q, %v", aside, err)
			}
			if v, damages := verify(t, a, VerifyOptions{}); v.ExitCode() != 0 {
				t.Errorf("afterwards: %v", damages)
			}
			counts, err := a.inbox.Counts(t.Context())
			if err != nil || counts.Received+counts.Quarantined > 0 {
				t.Errorf("somebody still waits for it: %+v, %v", counts, err)
			}
			if repeated, err := a.inbox.Put(t.Context(), d); repeated || err != nil {
				t.Errorf("sent again, it is known: %t, %v", repeated, err)
			}
		})
	}
}
