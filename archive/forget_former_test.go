package archive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/media"
	"minutebook/internal/residue"
)

// TestAForgottenRecordingIsNotLeftInTheFormerStore copies the recordings to another disk, where
// media.url leads from then on. Those in the data directory are named, and go with the others by forget
// and by a rule, one that was put aside too.
func TestAForgottenRecordingIsNotLeftInTheFormerStore(t *testing.T) {
	const word = "Xylophonist"
	a := newArchive(t)
	dir, disk := a.dir, filepath.Join(t.TempDir(), "disk")
	for id := int64(1); id <= 2; id++ {
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id, "T", "said")))
	}
	damaged := withMedia(t, a, 1, word+" plays")
	if err := os.Chmod(media.Path(a.media, damaged.SHA256), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(media.Path(a.media, damaged.SHA256), []byte(word), 0o400); err != nil {
		t.Fatal(err)
	}
	verify(t, a, VerifyOptions{Repair: true})
	withMedia(t, a, 1, word+" plays again")
	withMedia(t, a, 2, word+" sings")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(disk, os.DirFS(filepath.Join(dir, "media"))); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{Dir: dir, Logger: zerolog.Nop(), MediaURL: "file://" + disk, Now: func() time.Time { return epoch0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	former := filepath.Join(dir, "media")
	expectExtra := func(o VerifyOptions, what string) {
		t.Helper()
		_, all := verify(t, a, o)
		for _, d := range all {
			if d.Class == DamageFileExtra && strings.HasPrefix(d.Path, former) && strings.Contains(d.What, what) {
				return
			}
		}
		t.Errorf("nothing says %q: %v", what, all)
	}
	expectExtra(VerifyOptions{}, "2 recordings are left here")
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	expectExtra(VerifyOptions{Repair: true}, "1 recording is left here")
	rules := []RetentionRule{{MediaAfter: day}}
	if err := a.AcceptRetention(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	if _, err := a.DeleteExpired(t.Context(), rules, func(Expired) {}); err != nil {
		t.Fatal(err)
	}
	if found := residue.Find(t, word, dir, disk); found != nil {
		t.Errorf("recordings are left in %v", found)
	}
	if v, found := verify(t, a, VerifyOptions{}); len(v.Damages) > 0 {
		t.Errorf("verify finds %v", found)
	}
}

// TestOnlyAFormerStoreIsLookedAt has a directory in the data directory that is the store in use, by
// another name; is a link; and has the recordings of another archive.
func TestOnlyAFormerStoreIsLookedAt(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(local, disk string) error
		isLeft  bool
	}{
		"a former one": {func(local, disk string) error { return errors.Join(os.MkdirAll(local, 0o700), os.Mkdir(disk, 0o700)) }, true},
		"the present one": {func(local, disk string) error {
			return errors.Join(os.MkdirAll(local, 0o700), os.Symlink(local, disk))
		}, false},
		"a link": {func(local, disk string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(local), 0o700), os.Mkdir(disk, 0o700), os.Mkdir(disk+"2", 0o700), os.Symlink(disk+"2", local))
		}, false},
		"another archive's": {func(local, disk string) error {
			return errors.Join(os.MkdirAll(local, 0o700), os.Mkdir(disk, 0o700), os.WriteFile(filepath.Join(local, media.OwnerName), []byte("another\n"), 0o600))
		}, false},
		"an own one": {func(local, disk string) error {
			return errors.Join(os.MkdirAll(local, 0o700), os.Mkdir(disk, 0o700), os.WriteFile(filepath.Join(local, media.OwnerName), []byte("own\n"), 0o600))
		}, true},
	} {
		dir := t.TempDir()
		disk := filepath.Join(dir, "disk")
		if err := c.prepare(filepath.Join(dir, "data", "media"), disk); err != nil {
			t.Fatal(err)
		}
		if found := media.Former(disk, filepath.Join(dir, "data"), "own") != nil; found != c.isLeft {
			t.Errorf("%s: %v", name, found)
		}
	}
}
