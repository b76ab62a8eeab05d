package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/internal/durable"
	"minutebook/internal/testrun"
)

// TestRepairBringsBackWhatIsSomewhere damages a transcript that is also elsewhere,
// or nowhere, and repairs it.
func TestRepairBringsBackWhatIsSomewhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	raw := archivetest.Meeting(1, "Weekly", "zebrafish")
	for name, c := range map[string]struct {
		elsewhere func(t *testing.T, a *archive.Archive, o *archive.VerifyOptions)
		outcome   string
		lost      bool
		back      bool // at once
	}{
		"in another meeting": {func(t *testing.T, a *archive.Archive, _ *archive.VerifyOptions) {
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(2, "Weekly", "zebrafish"))
		}, "brought back from another version", false, true},
		"in the inbox": {func(t *testing.T, a *archive.Archive, _ *archive.VerifyOptions) {
			if _, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "m", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: raw}); err != nil {
				t.Fatal(err)
			}
			must(t, a.Inbox().Settle(t.Context(), inbox.Outcome{ID: 1}))
		}, "brought back from the inbox", false, true},
		"in a backup": {func(t *testing.T, a *archive.Archive, o *archive.VerifyOptions) {
			dest := t.TempDir()
			backUp(t, a, dest, Options{})
			archivetest.Damage(t, mainDB(a), `DELETE FROM bodies WHERE revision_id NOT IN (SELECT revision_id FROM parts WHERE part = 'transcript')
				AND revision_id = (SELECT revision_id FROM parts WHERE part = 'action_items')`)
			backUp(t, a, dest, Options{}) // which has less
			bad := backUp(t, a, dest, Options{})
			must(t, os.Truncate(filepath.Join(dest, bad.Generation, "archive.db"+generation.PackedSuffix), 100))
			key, err := age.GenerateX25519Identity()
			must(t, err)
			backUp(t, a, dest, Options{Recipients: []age.Recipient{key.Recipient()}}) // which cannot be read here
			from, err := a.OpenBackupSource(t.Context(), dest)
			must(t, err)
			t.Cleanup(func() { must(t, from.Close()) })
			o.From = from
		}, "generation-00000", false, true},
		"at the service": {func(t *testing.T, _ *archive.Archive, o *archive.VerifyOptions) {
			o.AskAgain = func(context.Context, int64) (string, error) { return "ada", nil }
		}, "asked for again from ada", false, false},
		"nowhere": {func(t *testing.T, _ *archive.Archive, o *archive.VerifyOptions) {
			o.AskAgain = func(context.Context, int64) (string, error) { return "", nil }
		}, `lost transcript of "Weekly"`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, o := archivetest.New(t), archive.VerifyOptions{Repair: true}
			archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), raw)
			want := contents(t, a)
			c.elsewhere(t, a, &o)
			archivetest.Damage(t, mainDB(a), `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id =
				(SELECT revision_id FROM parts WHERE recording_id = 1 AND part = 'transcript')`)
			v, damages := verify(t, a, o)
			d := damages[0]
			if !strings.Contains(d.String(), c.outcome) || d.Lost != c.lost || d.Repaired == c.lost || (v.ExitCode() == archive.LostCode) != c.lost {
				t.Errorf("exit code %d, %v", v.ExitCode(), damages)
			}
			if bytes, err := os.ReadFile(d.Aside); err != nil || len(bytes) == 0 {
				t.Errorf("what could not be read is not put aside: %v", err)
			}
			if v, damages := verify(t, a, archive.VerifyOptions{}); len(damages) > 0 {
				t.Errorf("after the repair: %d, %v", v.ExitCode(), damages)
			}
			if got := contents(t, a); c.back && !strings.Contains(got, strings.TrimSpace(want)) {
				t.Error("the meeting is not as it was")
			}
			if left, _ := filepath.Glob(filepath.Join(a.Dir(), ".tmp-*")); o.From == nil && left != nil {
				t.Errorf("left %v", left)
			}
			if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil || archivetest.Exists(d.Aside) {
				t.Errorf("forgotten, and %s is still there: %v", d.Aside, err)
			}
		})
	}
}

// TestRepairBringsBackRecordings damages one recording and removes another; a
// backup has one of them.
func TestRepairBringsBackRecordings(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 3), t.TempDir()
	intact := archivetest.Attach(t, a, 1, "moving pictures")
	spoilt := archivetest.Attach(t, a, 3, "damaged in the backup too")
	backUp(t, a, dest, Options{})
	gone := archivetest.Attach(t, a, 2, "in no backup")
	for _, path := range []string{blobPath(a, spoilt.SHA256), filepath.Join(dest, "media", spoilt.SHA256[:2], spoilt.SHA256)} {
		must(t, os.Chmod(path, 0o600))
		must(t, os.WriteFile(path, []byte("damaged in the backup toO"), 0o400))
	}
	path := blobPath(a, intact.SHA256)
	must(t, os.Chmod(path, 0o600))
	must(t, os.WriteFile(path, []byte("moving pictureS"), 0o400))
	must(t, os.Remove(blobPath(a, gone.SHA256)))
	from, err := a.OpenBackupSource(t.Context(), dest)
	must(t, err)
	defer from.Close()
	v, damages := verify(t, a, archive.VerifyOptions{Repair: true, From: from})
	if v.ExitCode() != archive.LostCode || v.Lost != 2 || v.Repaired != 1 {
		t.Errorf("%+v: %v", v, damages)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "moving pictures" {
		t.Errorf("%q, %v", content, err)
	}
	if m, err := a.MediaOf(t.Context(), 1); err != nil || len(m) != 1 {
		t.Errorf("%v, %v", m, err)
	}
	if !archivetest.Exists(filepath.Join(a.Dir(), "media", "damaged", intact.SHA256)) {
		t.Error("the damaged file was not put aside")
	}
	if _, damages := verify(t, a, archive.VerifyOptions{}); len(damages) > 0 {
		t.Errorf("after the repair: %v", damages)
	}
	if _, err := archivetest.New(t).OpenBackupSource(t.Context(), dest); err == nil || !strings.Contains(err.Error(), "no backup of this archive") {
		t.Errorf("of another archive: %v", err)
	}
}

// TestRepairsBesideEachOther: two repairs from one backup unpack it each for itself, and the end
// of one leaves the other its copy.
func TestRepairsBesideEachOther(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	backUp(t, a, dest, Options{})
	copies := func() int {
		paths, err := filepath.Glob(filepath.Join(a.Dir(), durable.TempPrefix+"repair-*"))
		must(t, err)
		return len(paths)
	}
	var sources []*archive.BackupSource
	for range 2 {
		archivetest.Damage(t, mainDB(a), `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id =
			(SELECT revision_id FROM parts WHERE recording_id = 1 AND part = 'transcript')`)
		from, err := a.OpenBackupSource(t.Context(), dest)
		must(t, err)
		sources = append(sources, from)
		if v, damages := verify(t, a, archive.VerifyOptions{Repair: true, From: from}); v.Repaired != 1 {
			t.Errorf("%+v, %v", v, damages)
		}
	}
	for left := 2; left > 0; left-- {
		if n := copies(); n != left {
			t.Errorf("%d repairs have %d copies", left, n)
		}
		must(t, sources[left-1].Close())
	}
	if n := copies(); n != 0 {
		t.Errorf("%d copies are left", n)
	}
}

// TestRepairLosesNothingThatAnUnreadBackupMayHave repairs from a directory whose newest
// generation is encrypted, without its identity and then with a damaged manifest, and at last
// reads it.
func TestRepairLosesNothingThatAnUnreadBackupMayHave(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
	backUp(t, a, dest, Options{})
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(3, "late", "zebrafish"))
	recording := archivetest.Attach(t, a, 3, "moving pictures")
	key, err := age.GenerateX25519Identity()
	must(t, err)
	r := backUp(t, a, dest, Options{Recipients: []age.Recipient{key.Recipient()}})
	must(t, os.Remove(blobPath(a, recording.SHA256)))
	archivetest.Damage(t, mainDB(a), `DELETE FROM bodies WHERE revision_id = (SELECT revision_id FROM parts WHERE recording_id = 3 AND part = 'transcript')`)
	repair := func(keys ...age.Identity) (archive.Verified, string) {
		from, err := a.OpenBackupSource(t.Context(), dest, keys...)
		must(t, err)
		defer from.Close()
		v, damages := verify(t, a, archive.VerifyOptions{Repair: true, From: from})
		return v, fmt.Sprint(damages)
	}
	refuses := func(reason string, keys ...age.Identity) {
		if v, damages := repair(keys...); v.Lost+v.Repaired > 0 || strings.Count(damages, reason) != 2 {
			t.Errorf("%+v: %s; want %s", v, damages, reason)
		}
	}
	refuses("is encrypted with age, and may have it")
	manifest := filepath.Join(dest, r.Generation, generation.ManifestName)
	whole, err := os.ReadFile(manifest)
	must(t, err)
	must(t, os.WriteFile(manifest, whole[1:], 0o600))
	refuses("cannot be read", key)
	must(t, os.WriteFile(manifest, whole, 0o600))
	if v, damages := repair(key); v.Repaired != 2 || v.Lost > 0 {
		t.Errorf("%+v: %s", v, damages)
	}
}

// TestRepairLosesNothingWhereTheBackupsGoAway repairs from a disk that goes away once it is open,
// and again when it is back.
func TestRepairLosesNothingWhereTheBackupsGoAway(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.New(t), filepath.Join(t.TempDir(), "usb")
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	recording := archivetest.Attach(t, a, 1, "moving pictures")
	before := contents(t, a)
	backUp(t, a, dest, Options{})
	must(t, os.Remove(blobPath(a, recording.SHA256)))
	archivetest.Damage(t, mainDB(a), `DELETE FROM bodies WHERE revision_id = (SELECT revision_id FROM parts WHERE recording_id = 1 AND part = 'transcript')`)
	for _, isAway := range []bool{true, false} {
		from, err := a.OpenBackupSource(t.Context(), dest)
		must(t, err)
		if isAway {
			must(t, os.Rename(dest, dest+".away"))
		}
		v, damages := verify(t, a, archive.VerifyOptions{Repair: true, From: from})
		must(t, from.Close())
		if v.Lost > 0 || isAway != (v.Repaired == 0) || isAway && strings.Count(fmt.Sprint(damages), "cannot be read any more, and may have it") != 2 {
			t.Errorf("away %t: %+v: %v", isAway, v, damages)
		}
		if isAway {
			must(t, os.Rename(dest+".away", dest))
		}
	}
	if after := contents(t, a); after != before {
		t.Errorf("it has become %s", after)
	}
}
