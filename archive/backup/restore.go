package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

// RestoreOptions say which generation to restore, and where to.
type RestoreOptions struct {
	From       string // the directory of backups: a path, or the address of a bucket
	Generation string // its name or number; "" for the newest
	Dir        string // the data directory to make: missing, empty, or of an interrupted restore
	// Restart begins anew in the directory of an interrupted restore, whatever
	// that was of.
	Restart bool
	// OldData are data directories of the same archive whose forgotten meetings are not
	// restored. Those beside Dir are found without it.
	OldData []string
	// MediaURL is where the recordings go; "" and "file:" are Dir/media.
	MediaURL string
	// MediaLine leads to the bucket of the recordings.
	MediaLine bucket.Line
	// WithoutDamaged goes on without the recordings that are damaged in the backup, as it does
	// without those that the backup never had.
	WithoutDamaged bool
	// DatabasesOnly leaves the recordings in the backup, where they are compared with
	// their hashes. Such a directory is no archive that a daemon could use.
	DatabasesOnly bool
	Identities    []age.Identity // for an encrypted backup
	Logger        zerolog.Logger
	Now           func() time.Time // time.Now when nil
	// Progress, when set, is called after each file.
	Progress func(done, total int)
}

// Restore makes a data directory from a generation of backups. It first compares the
// whole generation with its manifest, and refuses a damaged one with a
// [generation.DamagedError] that names every damage. The mark of an unfinished
// restore goes when every file was hashed again, every database has passed SQLite's
// checks and every recording of the archive is there: until then [archive.Open]
// refuses the directory, and only a Restore of the same generation goes on there.
// The change log begins a new epoch, so that followers of the old one start over; the
// search index is built anew. The manifest that it returns counts the meetings that were
// restored, without those that were forgotten later.
func Restore(ctx context.Context, o RestoreOptions) (generation.Manifest, error) {
	r := &restore{RestoreOptions: o}
	if r.Now == nil {
		r.Now = time.Now
	}
	err := r.run(ctx)
	if err != nil {
		err = generation.WrapError("restore", o.From, err)
	}
	return r.m, err
}

// restore is one run of Restore.
type restore struct {
	RestoreOptions
	from  generation.Generation
	m     generation.Manifest
	store media.Store
	blobs map[string]bool // in the store
	done  int
	// forgotten is the number of the generation's meetings that were forgotten later.
	forgotten int
	// oldData is the number of data directories of the same archive that were read.
	oldData int
}

func (r *restore) run(ctx context.Context) (err error) {
	if r.from, err = generation.Find(ctx, r.From, r.Generation); err != nil {
		return err
	}
	r.m = r.from.Manifest
	if err := r.checkFiles(ctx); err != nil {
		return err
	}
	if _, err := generation.ReadForgotten(ctx, r.from.Place); err != nil { // before anything is written
		return err
	}
	if r.m.Encrypted && len(r.Identities) == 0 {
		return seal.ErrNoIdentity
	}
	if err := r.claimDirectory(); err != nil {
		return err
	}
	lock, err := archive.LockDir(r.Dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, durable.GiveToOwner(r.Dir), media.GiveToOwner(r.store, r.Dir), lock.Release())
	}()
	if r.store, err = media.Open(r.Dir, r.MediaURL, r.MediaLine); err != nil {
		return err
	}
	media.SetOwner(r.store, r.m.Lineage[0], nil)
	if err := media.Check(ctx, r.store); err != nil {
		return err
	}
	var dbs []string
	r.blobs = map[string]bool{}
	for _, f := range r.m.Files {
		if isMedia := strings.HasPrefix(f.Path, "media/"); isMedia && r.DatabasesOnly {
			r.blobs[f.PlainSHA256] = true
		} else if isMedia {
			err = r.restoreRecording(ctx, f)
		} else {
			dbs, err = append(dbs, r.targetPath(f)), r.restoreDatabase(ctx, f)
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

// checkFiles compares the generation with its manifest. Damaged recordings become lost ones
// where the restore goes on without them.
func (r *restore) checkFiles(ctx context.Context) error {
	if r.from.Damage != nil {
		return r.from.Damage
	}
	damaged, err := generation.FindDamaged(ctx, r.from.Place, r.m.Files)
	if err != nil || len(damaged) == 0 {
		return err
	}
	refusal := generation.DamagedFiles(r.from.Place, damaged)
	if slices.ContainsFunc(damaged, func(f generation.DamagedFile) bool { return !strings.HasPrefix(f.Path, "media/") }) || r.DatabasesOnly {
		return refusal
	}
	if !r.WithoutDamaged {
		return fmt.Errorf("%w; these are recordings alone: backup --reread copies those anew that the archive still has, and restore --without-damaged goes on without them", refusal)
	}
	for _, f := range damaged {
		r.m.Files = slices.DeleteFunc(slices.Clone(r.m.Files), func(other generation.File) bool { return other == f.File })
		r.m.Lost = append(r.m.Lost, generation.Lost{SHA256: f.PlainSHA256, Reason: "its copy there is damaged: " + f.Reason})
	}
	return nil
}

// claimDirectory makes sure that the directory holds nothing but an interrupted restore
// of the same generation.
func (r *restore) claimDirectory() error {
	if err := durable.MkdirAll(r.Dir); err != nil {
		return err
	}
	text := fmt.Sprintf("A restore of %s, taken at %s from archive %s at change %d of epoch %s, was not finished. Run it again.\n",
		r.from.Name, r.m.TakenAt.Format(time.RFC3339Nano), r.m.Lineage[0], r.m.Seq, r.m.Epoch)
	marker := filepath.Join(r.Dir, archive.RestoringFile)
	switch marked, err := os.ReadFile(marker); {
	case err == nil && string(marked) == text:
		return nil
	case err == nil && !r.Restart:
		return fmt.Errorf("%s holds an interrupted restore of another backup (%s); run that again, or begin anew with --restart",
			r.Dir, strings.TrimSpace(string(marked)))
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
	return durable.WriteFile(marker, []byte(text))
}

// clear removes all files of an interrupted restore but its mark.
func (r *restore) clear() error {
	lock, err := archive.LockDir(r.Dir) // unless it still goes on
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.Dir)
	for _, e := range entries {
		if e.Name() != archive.RestoringFile && e.Name() != "lost+found" && e.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.Dir, e.Name())))
		}
	}
	if err = errors.Join(err, durable.SyncDir(r.Dir), lock.Release()); err != nil {
		return fmt.Errorf("remove what an interrupted restore left: %w", err)
	}
	return nil
}

// refuseFull fails for a directory that holds anything but the files that a file system has by
// itself, and a restore that was killed at its first write.
func (r *restore) refuseFull() error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("look into %s: %w", r.Dir, err)
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "archive.db":
			return fmt.Errorf("%s has an archive already (%s); to replace it, end its daemon and move the directory away, such as to %s.old, and restore again: meetings that were forgotten there are not restored. Or name a new directory with --data",
				r.Dir, name, filepath.Clean(r.Dir))
		case name != "lost+found" && !strings.HasPrefix(name, durable.TempPrefix):
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if n := len(names) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s is not empty: it holds %s%s; name a new or an empty directory with --data, or move away what this one holds", r.Dir, names[0], more)
}

// targetPath returns the path of a database until everything is checked.
func (r *restore) targetPath(f generation.File) string {
	name, _, _ := strings.Cut(path.Base(f.Path), ".db")
	return filepath.Join(r.Dir, archive.RestoringFile+"-"+name+".db")
}

// restoreRecording puts a recording into the store.
func (r *restore) restoreRecording(ctx context.Context, f generation.File) error {
	plaintext, err := r.from.Open(ctx, f, r.Identities)
	if err != nil {
		return err
	}
	defer plaintext.Close()
	blob, err := r.store.Put(ctx, plaintext)
	if err != nil {
		return err
	}
	if blob.SHA256 != f.PlainSHA256 {
		return errors.Join(fmt.Errorf("came out with the hash %s instead of %s", blob.SHA256, f.PlainSHA256), r.store.Delete(ctx, blob.SHA256))
	}
	r.blobs[blob.SHA256] = true
	return nil
}

// restoreDatabase writes a database, reads it back and checks it.
func (r *restore) restoreDatabase(ctx context.Context, f generation.File) error {
	plaintext, err := r.from.Open(ctx, f, r.Identities)
	if err != nil {
		return err
	}
	defer plaintext.Close()
	to := r.targetPath(f)
	for _, suffix := range []string{"-wal", "-shm"} { // of an interrupted run
		if err := durable.Remove(to + suffix); err != nil {
			return err
		}
	}
	if err := durable.Write(to, func(w io.Writer) error { _, err := seal.Copy(ctx, w, plaintext); return err }); err != nil {
		return err
	}
	written, err := os.Open(to)
	if err != nil {
		return err
	}
	defer written.Close()
	d := seal.NewDigest()
	if _, err := seal.Copy(ctx, d, written); err != nil {
		return err
	}
	if d.Size() != f.PlainSize || d.SHA256() != f.PlainSHA256 {
		return errors.New("came out with another content than was backed up")
	}
	return nil
}
