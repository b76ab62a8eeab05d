package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/internal/durable"
)

// RestoreOptions say which backup to restore and where.
type RestoreOptions struct {
	From       string // the directory of backups
	Generation string // its name or number; "" for the newest
	Dir        string // the data directory to make: missing, empty, or of an interrupted restore
	// Restart begins anew in the directory of an interrupted restore, whatever
	// that was of.
	Restart bool
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

// Restore makes a data directory of a generation of backups. Before anything is
// written all of it is compared with its manifest; a damaged one is refused with a
// DamagedError that names all of it. What is written is hashed again, every
// database passes SQLite's checks, and every recording that the archive names is
// there, before the mark of an unfinished restore goes: until then Open refuses
// the directory, and only a Restore of the same generation goes on there. The
// change log begins a new epoch, so that followers of the old one start over; the search index is built anew.
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
	from  Generation
	m     Manifest
	store Store
	blobs map[string]bool // what the store has got
	done  int
}

func (r *restoring) run(ctx context.Context) (err error) {
	if r.from, err = pick(r.From, r.Generation); err != nil {
		return err
	}
	r.m = r.from.Manifest
	if err := r.from.check(ctx); err != nil {
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

// claim makes sure that the directory holds nothing but an interrupted restore
// of the same generation.
func (r *restoring) claim() error {
	if err := durable.MkdirAll(r.Dir); err != nil {
		return err
	}
	word := fmt.Sprintf("A restore of %s, taken at %s from archive %s at change %d of epoch %s, was not finished. Run it again.\n",
		r.from.Name, r.m.TakenAt.Format(time.RFC3339Nano), r.m.Lineage[0], r.m.Seq, r.m.Epoch)
	marker := filepath.Join(r.Dir, restoringName)
	switch was, err := os.ReadFile(marker); {
	case err == nil && string(was) == word:
		return nil
	case err == nil && !r.Restart:
		return fmt.Errorf("%s holds an interrupted restore of another backup (%s); run that again, or begin anew with --restart",
			r.Dir, strings.TrimSpace(string(was)))
	case err == nil:
		if err := r.clear(); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into %s: %w", r.Dir, err)
	default:
		if err := r.refuseFull(); err != nil {
			return err
		}
	}
	return durable.WriteFile(marker, []byte(word))
}

// clear removes what an interrupted restore has made, all but its mark.
func (r *restoring) clear() error {
	lock, err := lockDir(r.Dir) // unless it still goes on
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.Dir)
	for _, e := range entries {
		if e.Name() != restoringName && e.Name() != "lost+found" && e.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.Dir, e.Name())))
		}
	}
	if err = errors.Join(err, durable.SyncDir(r.Dir), lock.release()); err != nil {
		return fmt.Errorf("remove what an interrupted restore left: %w", err)
	}
	return nil
}

func (r *restoring) refuseFull() error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("look into %s: %w", r.Dir, err)
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return fmt.Errorf("%s is not empty: it holds %s; restore into a new directory", r.Dir, e.Name())
		}
	}
	return nil
}

// target is where a database lies until all is checked.
func (r *restoring) target(f ManifestFile) string {
	name, _, _ := strings.Cut(path.Base(f.Path), ".db")
	return filepath.Join(r.Dir, restoringName+"-"+name+".db")
}

func (r *restoring) recording(ctx context.Context, f ManifestFile) error {
	plain, err := r.from.open(f, r.Identities)
	if err != nil {
		return err
	}
	defer plain.Close()
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
	plain, err := r.from.open(f, r.Identities)
	if err != nil {
		return err
	}
	defer plain.Close()
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
