package years

import (
	"os"
	"path/filepath"

	"filippo.io/age"

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

// checkSealed looks for content in an encrypted backup, or export.
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
}
