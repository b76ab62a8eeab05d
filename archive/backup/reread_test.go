package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
)

// rot changes a byte of a file, and not its size.
func rot(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	raw[len(raw)-1] ^= 1
	must(t, errors.Join(os.Remove(path), os.WriteFile(path, raw, 0o600)))
}

// TestARottenRecordingIsCopiedAnew lets the copy of a recording rot that all generations share.
// A backup that rereads heals all of them, also where the new copy has other bytes. Until
// then a restore goes on without it where that is asked for.
func TestARottenRecordingIsCopiedAnew(t *testing.T) {
	t.Parallel()
	id, err := age.GenerateX25519Identity()
	must(t, err)
	for name, o := range map[string]Options{"plain": {}, "sealed": {Recipients: []age.Recipient{id.Recipient()}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
			blob := archivetest.Attach(t, a, 1, "moving pictures")
			archivetest.Attach(t, a, 2, "more of them")
			backUp(t, a, dest, o)
			backUp(t, a, dest, o)
			copies, err := filepath.Glob(filepath.Join(dest, "media", "*", blob.SHA256+"*"))
			must(t, err)
			rot(t, copies[0])
			restore := RestoreOptions{From: dest, Identities: []age.Identity{id}, Dir: filepath.Join(t.TempDir(), "back")}
			if _, err := Restore(t.Context(), restore); err == nil || !strings.Contains(err.Error(), "--without-damaged") {
				t.Errorf("restored from the rotten copy: %v", err)
			}
			restore.WithoutDamaged = true
			if m, err := Restore(t.Context(), restore); err != nil || len(m.Lost) != 1 || !strings.Contains(m.Lost[0].String(), `of meeting 1 is not in the backup: its copy there is damaged`) {
				t.Errorf("without it: %+v, %v", m.Lost, err)
			}
			if _, damages := verify(t, archivetest.Open(t, restore.Dir), archive.VerifyOptions{}); len(damages) != 1 || damages[0].Class != archive.DamageFileMissing {
				t.Errorf("restored without it: %v", damages)
			}
			o.Reread = true
			if r := backUp(t, a, dest, o); r.Replaced != 1 || r.Kept != 1 || len(r.Lost) > 0 {
				t.Errorf("%+v", r)
			}
			for _, n := range []string{"1", "2", "3"} {
				if contents(t, restored(t, RestoreOptions{From: dest, Generation: n, Identities: []age.Identity{id}})) != contents(t, a) {
					t.Errorf("generation %s differs", n)
				}
			}
		})
	}
}

// TestADamagedRecordingReplacesNone lets both copies of a recording rot. The one in the backup
// stays as it is: a person may still have something of it.
func TestADamagedRecordingReplacesNone(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	blob := archivetest.Attach(t, a, 1, "moving pictures")
	backUp(t, a, dest, Options{})
	rotten := filepath.Join(dest, "media", blob.SHA256[:2], blob.SHA256)
	must(t, os.WriteFile(rotten, []byte("moving"), 0o600))
	rot(t, blobPath(a, blob.SHA256))
	if r := backUp(t, a, dest, Options{Keep: 1}); len(r.Lost) != 1 || len(r.Pruned) > 0 {
		t.Errorf("%+v", r)
	}
	if left, err := os.ReadFile(rotten); err != nil || string(left) != "moving" {
		t.Errorf("%q is left, %v", left, err)
	}
	all, err := generation.List(t.Context(), dest)
	if err != nil || len(all) != 2 {
		t.Errorf("%d generations, %v", len(all), err)
	}
}

// TestAnInterruptedReplacementIsReadBack ends an encrypted backup after it has replaced a rotten
// recording by other bytes of the same size, and before its manifest; or kills it, so that it has
// noted nothing of these bytes. The next one reads nothing again that it has no doubts about.
func TestAnInterruptedReplacementIsReadBack(t *testing.T) {
	t.Parallel()
	id, err := age.GenerateX25519Identity()
	must(t, err)
	for _, kill := range []bool{false, true} {
		a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
		blob := archivetest.Attach(t, a, 1, "moving pictures")
		archivetest.Attach(t, a, 2, "more of them")
		o := Options{Recipients: []age.Recipient{id.Recipient()}, Keep: 1}
		backUp(t, a, dest, o)
		copies, err := filepath.Glob(filepath.Join(dest, "media", "*", blob.SHA256+"*"))
		must(t, err)
		rot(t, copies[0])
		rotten, err := os.ReadFile(copies[0])
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		reread, asKilled := o, filepath.Join(t.TempDir(), "killed")
		reread.Reread = true
		reread.Progress = func(int, int) {
			if now, err := os.ReadFile(copies[0]); err == nil && !bytes.Equal(now, rotten) && ctx.Err() == nil {
				must(t, os.CopyFS(asKilled, os.DirFS(dest)))
				cancel()
			}
		}
		if _, err := Run(ctx, a, dest, reread); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if kill {
			dest = asKilled
		}
		if r := backUp(t, a, dest, o); r.Copied+r.Kept != 2+2 || r.Kept < 1 || len(r.Pruned) != 1 {
			t.Errorf("killed %t: %+v", kill, r)
		}
		if contents(t, restored(t, RestoreOptions{From: dest, Identities: []age.Identity{id}})) != contents(t, a) {
			t.Errorf("killed %t: the restored archive differs", kill)
		}
	}
}
