package media

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

const quarantineDir = "damaged"

// QuarantinePath is the file to which [Quarantine] moves a damaged blob. It is on
// this machine also where the store is not.
func QuarantinePath(s Store, dataDir, sha256 string) string {
	dir := Dir(s)
	if dir == "" {
		dir = localDir(dataDir)
	}
	return filepath.Join(dir, quarantineDir, sha256)
}

// Quarantine moves a damaged blob out of the store to [QuarantinePath].
func Quarantine(ctx context.Context, s Store, dataDir, sha256 string) error {
	to := QuarantinePath(s, dataDir, sha256)
	if err := durable.MkdirAll(filepath.Dir(to)); err != nil {
		return fmt.Errorf("put damaged recording aside: %w", err)
	}
	if files, ok := s.(*fileStore); ok {
		return durable.Rename(files.path(sha256), to)
	}
	r, _, err := s.Open(ctx, sha256)
	if err != nil {
		return err
	}
	defer r.Close()
	err = durable.Write(to, func(w io.Writer) error { _, err := io.Copy(w, seal.ContextReader(ctx, r)); return err })
	if err != nil {
		return err
	}
	return s.Delete(ctx, sha256)
}

// WalkForeign calls fn with the files in a store's directory that are neither blobs, nor
// partial downloads, nor put aside, nor [IsSideFile], but for [OwnerName]. They belong to
// someone, and nothing deletes them. A store without a directory has none.
func WalkForeign(ctx context.Context, s Store, fn func(path string)) error {
	files, ok := s.(*fileStore)
	if !ok {
		return nil
	}
	return files.walkDir(func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := d.Name()
		own := d.IsDir() && filepath.Dir(path) == files.dir && (name == partialDir || name == quarantineDir)
		if own || path != files.dir && IsSideFile(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if path == filepath.Join(files.dir, OwnerName) {
			return nil
		}
		if !d.IsDir() && (!ValidName(name) || path != files.path(name)) {
			fn(path)
		}
		return nil
	})
}

// IsSideFile reports whether desktops, network storage or file synchronisation
// leave a file or directory of that name everywhere.
func IsSideFile(name string) bool {
	switch strings.ToLower(name) {
	case "@eadir", "#recycle", "#snapshot", ".ds_store", "thumbs.db", "desktop.ini", "lost+found", ".snapshot", ".snapshots",
		".zfs", ".appledouble", ".appledb", ".spotlight-v100", ".trashes", ".fseventsd", ".stfolder", ".stignore",
		".stversions", ".sync", ".directory", "@tmp", "@recycle", "$recycle.bin", "system volume information":
		return true
	}
	for _, prefix := range []string{"._", ".nfs", ".fuse_hidden", ".syncthing.", ".trash-", "~syncthing~", ".smbdelete"} {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "@SynoResource") || strings.HasSuffix(name, "@SynoEAStream")
}
