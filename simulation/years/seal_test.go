package years

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"minutebook/archive/backup"
	"minutebook/internal/residue"
)

// makeBackupKey makes the key for which half of the seeds encrypt their backups and exports.
func (w *world) makeBackupKey() (err error) {
	if w.seed < firstStrict || newRand(w.seed, "backup key").IntN(2) == 0 {
		return nil
	}
	if w.backupKey, err = age.GenerateX25519Identity(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "backup.key"), []byte(w.backupKey.String()+"\n"), 0o600)
}

// recipients are the public keys of the configuration.
func (w *world) recipients() []string {
	if w.backupKey == nil {
		return nil
	}
	return []string{w.backupKey.Recipient().String()}
}

// identities are the keys with which a person restores a backup.
func (w *world) identities() []age.Identity {
	if w.backupKey == nil {
		return nil
	}
	return []age.Identity{w.backupKey}
}

// identity is the file of the key; "": there is none.
func (w *world) identity() string {
	if w.backupKey == nil {
		return ""
	}
	return filepath.Join(w.dir, "backup.key")
}

// checkSealed looks for content in an encrypted directory of backups, or export.
func (w *world) checkSealed(dir string) {
	if w.backupKey == nil {
		return
	}
	var words []string
	for _, m := range w.org.meetings {
		words = append(words, token(m.id))
	}
	if found := residue.FindAny(w.t, words, dir); len(found) > 0 {
		w.fail("words of meetings are in %q, which is encrypted", found)
	}
	if w.seed < firstHarsh {
		return
	}
	if found := residue.FindAny(w.t, w.secrets(), dir); len(found) > 0 {
		w.fail("a secret is in %q, which is encrypted", found)
	}
	w.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || w.sealed[path] || isOpen(d.Name()) {
			return err
		}
		begin, err := os.ReadFile(path)
		if len(begin) > 0 && !bytes.HasPrefix(begin, []byte("age-encryption.org/v1\n")) {
			w.fail("%s is not encrypted: it begins with %.20q", path, begin)
		}
		if strings.Contains(path, "/media/") { // a recording of a backup stays as it is
			w.sealed[path] = true
		}
		return err
	}), "read what is encrypted")
}

// isOpen reports whether a file of a backup or an export is never encrypted: manifests, locks, and the
// files in which an export remembers its last state. They have sizes, hashes, numbers and times alone (docs/backup.md).
func isOpen(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".minutebook-") || name == "lock"
}

// checkUseless has somebody without the key of a backup try to restore it, and somebody with
// another one.
func (w *world) checkUseless(b backupDone) {
	if w.backupKey == nil || w.seed < firstHarsh {
		return
	}
	other, err := age.GenerateX25519Identity()
	w.must(err, "make another key")
	for _, keys := range [][]age.Identity{nil, {other}} {
		dir := w.newDir()
		_, err := backup.Restore(context.Background(), backup.RestoreOptions{From: b.dir, Generation: b.name, Dir: dir, Identities: keys, DatabasesOnly: true,
			MediaURL: w.mediaURL(), MediaLine: w.line(nil), Now: w.now, Logger: w.logger})
		if err == nil {
			w.fail("the encrypted backup %s is restored with %d keys, none of which is its own", b.name, len(keys))
		}
		w.must(os.RemoveAll(dir), "remove a data directory")
	}
}
