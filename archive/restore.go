package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/internal/durable"
)

// RestoreOptions say which backup to restore and where.
type RestoreOptions struct {
	From string // the backup's directory
	Dir  string // the data directory to make: missing, empty, or of an interrupted restore
	// MediaURL is where the recordings go; "" and "file:" are Dir/media.
	MediaURL   string
	Identities []age.Identity // for an encrypted backup
	Logger     zerolog.Logger
	Now        func() time.Time // time.Now when nil
	// Progress, when set, is called after each file.
	Progress func(done, total int)
}

// restoringName marks a data directory that is not whole yet.
const restoringName = "restoring"

// Restore makes a data directory of a backup. Before anything is written the
// whole backup is compared with its manifest; a damaged one is refused with a
// DamagedError that names all of it. What is written is hashed again, every
// database passes SQLite's checks, and every recording that the archive names is
// there, before the mark of an unfinished restore goes: until then Open refuses
// the directory, and Restore can be run again. The change log begins a new epoch, so
// that followers of the old one start over; the search index is built anew.
func Restore(ctx context.Context, o RestoreOptions) (Manifest, error) {
	r := &restoring{RestoreOptions: o}
	if r.Now == nil {
		r.Now = time.Now
	}
	err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("restore %s: %w", o.From, err)
	}
	return r.m, err
}

// restoring is one run of Restore.
type restoring struct {
	RestoreOptions
	m     Manifest
	store Store
	blobs map[string]bool // what the store has got
	done  int
}

func (r *restoring) run(ctx context.Context) (err error) {
	if r.m, err = CheckBackup(ctx, r.From); err != nil {
		return err
	}
	if r.m.Encrypted && len(r.Identities) == 0 {
		return errors.New("it is encrypted with age, and no identity was given")
	}
	if err := r.claim(); err != nil {
		return err
	}
	lock, err := lockDir(r.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	if r.store, err = openStore(ctx, r.Dir, r.MediaURL); err != nil {
		return err
	}
	var dbs []string
	r.blobs = map[string]bool{}
	for _, f := range r.m.Files {
		if strings.HasPrefix(f.Path, "media/") {
			err = r.recording(ctx, f)
		} else {
			dbs, err = append(dbs, r.target(f)), r.database(ctx, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if r.done++; r.Progress != nil {
			r.Progress(r.done, len(r.m.Files))
		}
	}
	return r.finish(ctx, dbs)
}

// claim makes sure that the directory holds nothing but an interrupted restore.
func (r *restoring) claim() error {
	if err := durable.MkdirAll(r.Dir); err != nil {
		return err
	}
	marker := filepath.Join(r.Dir, restoringName)
	if _, err := os.Stat(marker); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into %s: %w", r.Dir, err)
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("look into %s: %w", r.Dir, err)
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return fmt.Errorf("%s is not empty: it holds %s; restore into a new directory", r.Dir, e.Name())
		}
	}
	return durable.WriteFile(marker, []byte("A restore of "+r.From+" was not finished. Run it again.\n"))
}

// target is where a database lies until all is checked.
func (r *restoring) target(f ManifestFile) string {
	name := strings.TrimSuffix(filepath.Base(filepath.FromSlash(f.Path)), ".age")
	return filepath.Join(r.Dir, restoringName+"-"+name)
}

// plain opens a file of the backup as it was before encryption.
func (r *restoring) plain(f ManifestFile) (io.Reader, io.Closer, error) {
	file, err := os.Open(filepath.Join(r.From, filepath.FromSlash(f.Path)))
	if err != nil {
		return nil, nil, err
	}
	if !r.m.Encrypted {
		return file, file, nil
	}
	plain, err := age.Decrypt(file, r.Identities...)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("decrypt: %w", err), file.Close())
	}
	return plain, file, nil
}

func (r *restoring) recording(ctx context.Context, f ManifestFile) error {
	plain, file, err := r.plain(f)
	if err != nil {
		return err
	}
	defer file.Close()
	blob, err := r.store.Put(ctx, plain)
	if err != nil {
		return err
	}
	if blob.SHA256 != f.PlainSHA256 {
		return errors.Join(fmt.Errorf("came out with the hash %s instead of %s", blob.SHA256, f.PlainSHA256), r.store.Delete(ctx, blob.SHA256))
	}
	r.blobs[blob.SHA256] = true
	return nil
}

// database writes a database, reads it back and checks it.
func (r *restoring) database(ctx context.Context, f ManifestFile) error {
	plain, file, err := r.plain(f)
	if err != nil {
		return err
	}
	defer file.Close()
	to := r.target(f)
	for _, side := range []string{"-wal", "-shm"} { // of an interrupted run
		if err := durable.Remove(to + side); err != nil {
			return err
		}
	}
	if err := durable.Write(to, func(w io.Writer) error { _, err := io.Copy(w, contextReader{ctx, plain}); return err }); err != nil {
		return err
	}
	written, err := os.Open(to)
	if err != nil {
		return err
	}
	defer written.Close()
	c := &counter{Hash: sha256.New()}
	if _, err := io.Copy(c, contextReader{ctx, written}); err != nil {
		return err
	}
	if c.n != f.PlainSize || c.sum() != f.PlainSHA256 {
		return errors.New("came out with another content than was backed up")
	}
	return nil
}
