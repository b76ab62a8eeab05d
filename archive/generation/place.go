package generation

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"minutebook/internal/bucket"
)

// WrapError says of an action on a place what failed. A place that the error names is not
// named again.
func WrapError(action, place string, err error) error {
	if strings.Contains(err.Error(), place) {
		return fmt.Errorf("%s: %w", action, err)
	}
	return fmt.Errorf("%s %s: %w", action, place, err)
}

// Place is a directory of backups, or of exported tables: in a file system, or below a
// prefix in a bucket. The names of its files are relative to it, with slashes. Where a
// bucket does not answer, the methods fail with a [bucket.UnavailableError].
type Place interface {
	// String returns the path or the address that [OpenPlace] took, as [Absolute] writes it.
	String() string
	// Entries returns the names of the files and folders right in the place. A place that
	// does not exist has none.
	Entries(ctx context.Context) ([]string, error)
	// Files returns the sizes in bytes of the files below a folder, by their names.
	Files(ctx context.Context, folder string) (map[string]int64, error)
	// Open opens a file for reading. It fails with fs.ErrNotExist where there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Write replaces a file by the bytes that fill writes. The file is whole and durable,
	// or as it was before.
	Write(ctx context.Context, name string, fill func(io.Writer) error) error
	// Create writes a file that nothing else may have written: in a bucket it fails where
	// there is one.
	Create(ctx context.Context, name string, content []byte) error
	// Remove removes a file, or a folder with all its files. It succeeds where there is
	// none.
	Remove(ctx context.Context, name string) error
	// SweepWrites removes the remains of interrupted writes of the files that isOwn accepts,
	// which no list shows. No write of them may be going on.
	SweepWrites(ctx context.Context, isOwn func(name string) bool) error
}

// OpenPlace opens the directory of backups at a path, or at the address of a bucket. It
// need not exist yet, and no server is asked.
func OpenPlace(name string) (Place, error) {
	if !bucket.IsAddress(name) {
		return folder(name), nil
	}
	b, err := bucket.Open(trimSlash(name))
	if err != nil {
		return nil, err
	}
	return prefix{b}, nil
}

// LocalDir returns the path of a place in a file system, and "" for another place.
func LocalDir(p Place) string {
	dir, _ := p.(folder)
	return string(dir)
}

// Absolute returns the absolute path of a directory of backups, or the address of a bucket
// without a slash at the end of its prefix: a place has one name.
func Absolute(name string) (string, error) {
	if err := bucket.CheckPlace(name); err != nil || bucket.IsAddress(name) {
		return trimSlash(name), err
	}
	return filepath.Abs(name)
}

// trimSlash returns the address of a bucket without slashes at the end of its prefix.
func trimSlash(address string) string {
	prefix, query, hasQuery := strings.Cut(address, "?")
	if prefix = strings.TrimRight(prefix, "/"); hasQuery {
		prefix += "?" + query
	}
	return prefix
}

// joinPath returns the path or address of an entry of a directory of backups.
func joinPath(dir, name string) string {
	if !bucket.IsAddress(dir) {
		return filepath.Join(dir, name)
	}
	address, query, hasQuery := strings.Cut(dir, "?")
	address = strings.TrimSuffix(address, "/") + "/" + url.PathEscape(name)
	if hasQuery {
		address += "?" + query
	}
	return address
}

// SplitPath returns the directory of backups and the name of an entry of it.
func SplitPath(entry string) (dir, name string) {
	if !bucket.IsAddress(entry) {
		return filepath.Dir(entry), filepath.Base(entry)
	}
	address, query, hasQuery := strings.Cut(entry, "?")
	dir, name = path.Split(address)
	if dir = strings.TrimSuffix(dir, "/"); hasQuery {
		dir += "?" + query
	}
	return dir, name
}

// DirOf returns the directory of backups of the generation at a path or address.
func DirOf(entry string) string {
	if dir, name := SplitPath(entry); NumberIn(name) > 0 {
		return dir
	}
	return entry
}

// readFile returns the content of a small file of a place.
func readFile(ctx context.Context, p Place, name string) ([]byte, error) {
	r, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return raw, nil
}
