package export

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

func (x *run) path(name string) string { return filepath.Join(x.Dir, filepath.FromSlash(name)) }

// writeFile renders a file and replaces it when its content differs from that of
// the last export, or when the file is missing or cut short. A file that a person
// has edited since stays until the meeting itself changes.
func (x *run) writeFile(ctx context.Context, f *file, render func(io.Writer) error) error {
	var content bytes.Buffer
	if err := render(&content); err != nil {
		return err
	}
	plaintext := seal.NewDigest()
	plaintext.Write(content.Bytes())
	f.SHA256 = plaintext.SHA256()
	x.markSealed(f)
	last, err := x.ledger.findFile(f.What, f.Format)
	if err != nil {
		return err
	}
	if x.isCurrent(ctx, f, last, bytes.NewReader(content.Bytes()), plaintext.Size()) {
		return x.recordUnchanged(f, last)
	}
	stored := &content
	if f.Sealed {
		stored = new(bytes.Buffer)
		if err := x.encrypt(stored, content.Bytes()); err != nil {
			return err
		}
	}
	f.Size = int64(stored.Len())
	if err := x.ledger.announce(f); err != nil {
		return err
	}
	if err := replaceFile(x.path(f.Name), stored.Bytes()); err != nil {
		return err
	}
	return x.recordWritten(f, last)
}

// markSealed says for whom a file is encrypted.
func (x *run) markSealed(f *file) {
	if f.Sealed = len(x.Recipients) > 0 && !f.open; f.Sealed {
		f.Recipients = recipientsID(x.Recipients)
	}
}

// recipientsID tells sets of age recipients apart: "" for none.
func recipientsID(all []age.Recipient) string {
	if len(all) == 0 {
		return ""
	}
	var names []string
	for _, r := range all {
		name := fmt.Sprintf("%T", r)
		if key, ok := r.(fmt.Stringer); ok {
			name = key.String()
		}
		names = append(names, name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(names), "\n")))
	return hex.EncodeToString(sum[:16])
}

// recordWritten records a file that was written in the ledger. It removes the file of
// the last export when that had another name, as after encryption was turned on.
func (x *run) recordWritten(f, last *file) error {
	if last != nil && last.Name != f.Name {
		if err := removeFile(x.path(last.Name)); err != nil {
			return err
		}
	}
	x.count(func(r *Result) { r.Written++ })
	return x.ledger.record(f)
}

func (x *run) recordUnchanged(f, last *file) error {
	x.count(func(r *Result) { r.Unchanged++ })
	if last != nil && *last == (file{What: f.What, Format: f.Format, Name: f.Name, SHA256: f.SHA256, Size: f.Size, Sealed: f.Sealed, Recipients: f.Recipients}) {
		return nil
	}
	return x.ledger.record(f)
}

// isCurrent reports whether the file on the disk has this content already, of size
// bytes before encryption, and sets its size.
func (x *run) isCurrent(ctx context.Context, f, last *file, content io.Reader, size int64) bool {
	info, err := os.Stat(x.path(f.Name))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if last != nil && last.Name == f.Name && last.SHA256 == f.SHA256 && last.Sealed == f.Sealed && last.Recipients == f.Recipients {
		f.Size = last.Size
		return info.Size() >= last.Size || !f.Sealed && !isCut(x.path(f.Name), content, info.Size())
	}
	if f.Sealed || info.Size() != size {
		return false
	}
	f.Size = size
	stored, err := seal.FileDigest(ctx, x.path(f.Name))
	return err == nil && stored.SHA256() == f.SHA256
}

// isCut reports whether a file is a beginning of the content, of size bytes, as after a
// power cut. Files that somebody has made shorter are not.
func isCut(path string, content io.Reader, size int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	is, begins := sha256.New(), sha256.New()
	_, err = io.Copy(is, f)
	if _, failed := io.CopyN(begins, content, size); err != nil || failed != nil {
		return true
	}
	return bytes.Equal(is.Sum(nil), begins.Sum(nil))
}

// streamFile is writeFile for a file that may be large: it is rendered to the disk
// and never held in memory.
func (x *run) streamFile(ctx context.Context, f *file, render func(io.Writer) error) (err error) {
	x.markSealed(f)
	temp, err := os.CreateTemp(filepath.Dir(x.path(f.Name)), durable.TempPrefix+"*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer os.Remove(temp.Name()) // fails, and may, once the file was renamed
	plaintext, err := renderTo(temp, x.Recipients, render)
	if err == nil && f.synced {
		err = temp.Sync()
	}
	if err != nil {
		return fmt.Errorf("write file: %w", errors.Join(err, temp.Close()))
	}
	defer temp.Close()
	f.SHA256 = plaintext.SHA256()
	last, err := x.ledger.findFile(f.What, f.Format)
	if err != nil {
		return err
	}
	if x.isCurrent(ctx, f, last, io.NewSectionReader(temp, 0, plaintext.Size()), plaintext.Size()) {
		return x.recordUnchanged(f, last)
	}
	info, err := temp.Stat()
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	f.Size = info.Size()
	if err := x.ledger.announce(f); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), x.path(f.Name)); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if f.synced {
		if err := durable.SyncDir(filepath.Dir(x.path(f.Name))); err != nil {
			return err
		}
	}
	return x.recordWritten(f, last)
}

// renderTo renders to a file, encrypted for recipients where there are any, and returns
// the digest of the content before encryption.
func renderTo(to *os.File, recipients []age.Recipient, render func(io.Writer) error) (*seal.Digest, error) {
	buffered := bufio.NewWriterSize(to, 1<<16)
	out, err := seal.Writer(buffered, recipients)
	if err != nil {
		return nil, err
	}
	plaintext := seal.NewDigest()
	err = render(io.MultiWriter(out, plaintext))
	return plaintext, errors.Join(err, out.Close(), buffered.Flush())
}

func (x *run) encrypt(to io.Writer, content []byte) error {
	out, err := seal.Writer(to, x.Recipients)
	if err == nil {
		_, err = out.Write(content)
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// sweepUnfinished removes the files that a killed export was writing: they may hold a
// meeting that was forgotten since. The ledger is open, so no other export runs. It looks only
// where exports write: all else below the directory belongs to others.
func sweepUnfinished(dir string) error {
	folders := []string{".", "meetings", "people", "static"}
	for _, table := range tableNames {
		folders = append(folders, table+"/month=*")
	}
	for _, folder := range folders {
		names, err := fs.Glob(os.DirFS(dir), path.Join(folder, durable.TempPrefix+"*"))
		if err != nil {
			return err
		}
		for _, name := range names {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if strings.Trim(strings.TrimPrefix(path.Base(name), durable.TempPrefix), "0123456789") != "" {
				continue
			}
			info, err := os.Lstat(at)
			if err == nil && info.Mode().IsRegular() {
				err = os.Remove(at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceFile puts content in place of a file, with mode 0600; readers see the old
// or the new file. It does not wait for the disk, which the ledger does before it tells of the
// file: after a power cut a file may be absent or cut short, and the next export writes it again.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), durable.TempPrefix+"*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// removeForgotten removes the files of meetings that were forgotten since the last export, and
// takes the meetings from the lists: also those that failed between the list and their file.
func (x *run) removeForgotten(ctx context.Context) error {
	ids, _, err := x.archive.Tombstones(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		files, err := x.ledger.filesOf(id)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := x.remove(f); err != nil {
				return fmt.Errorf("forgotten meeting %d: %w", id, err)
			}
		}
		for _, format := range []Format{Markdown, HTML} {
			if err := x.ledger.removeMeeting(format, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes a file that no longer belongs to the export.
func (x *run) remove(f file) error {
	if err := removeFile(x.path(f.Name)); err != nil {
		return err
	}
	x.count(func(r *Result) { r.Removed++ })
	return x.ledger.erase(f.What, f.Format)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}
