package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

func (x *export) path(name string) string { return filepath.Join(x.Dir, filepath.FromSlash(name)) }

// write renders a file and replaces it when its content is another one than
// that of the last export, or when the file is missing or cut short. A file that
// a person has edited since stays until the meeting itself changes.
func (x *export) write(f *exportedFile, render func(io.Writer) error) error {
	var content bytes.Buffer
	if err := render(&content); err != nil {
		return err
	}
	sum := sha256.Sum256(content.Bytes())
	f.SHA256 = hex.EncodeToString(sum[:])
	f.Sealed = len(x.Recipients) > 0 && !f.open
	last, err := x.ledger.file(f.What, f.Format)
	if err != nil {
		return err
	}
	stored := content.Bytes()
	if x.held(f, last, int64(len(stored))) {
		return x.unchanged(f, last)
	}
	if f.Sealed {
		if stored, err = x.seal(stored); err != nil {
			return err
		}
	}
	f.Size = int64(len(stored))
	if err := replaceFile(x.path(f.Name), stored); err != nil {
		return err
	}
	return x.written(f, last)
}

// written enters a file that was replaced, and removes the one that it had
// under another name, as before exports were encrypted.
func (x *export) written(f, last *exportedFile) error {
	if last != nil && last.Name != f.Name {
		if err := removeFile(x.path(last.Name)); err != nil {
			return err
		}
	}
	x.count(func(r *ExportResult) { r.Written++ })
	return x.ledger.keep(f)
}

func (x *export) unchanged(f, last *exportedFile) error {
	x.count(func(r *ExportResult) { r.Unchanged++ })
	if last != nil && last.Name == f.Name && last.SHA256 == f.SHA256 && last.Size == f.Size && last.Sealed == f.Sealed {
		return nil
	}
	return x.ledger.keep(f)
}

// held tells whether the file on the disk has this content, of size bytes before
// encryption, already, and sets its size.
func (x *export) held(f, last *exportedFile, size int64) bool {
	info, err := os.Stat(x.path(f.Name))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if last != nil && last.Name == f.Name && last.SHA256 == f.SHA256 && last.Sealed == f.Sealed {
		f.Size = last.Size
		return info.Size() > 0 || last.Size == 0
	}
	if f.Sealed || info.Size() != size {
		return false
	}
	f.Size = size
	sum, err := hashFile(x.path(f.Name))
	return err == nil && sum == f.SHA256
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hexSum(h.Sum(nil)), err
}

// stream is write for what may be large: it is rendered to the disk and never
// held in memory.
func (x *export) stream(f *exportedFile, render func(io.Writer) error) (err error) {
	f.Sealed = len(x.Recipients) > 0
	temp, err := os.CreateTemp(filepath.Dir(x.path(f.Name)), durable.TempPrefix+"*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer os.Remove(temp.Name()) // which fails when it has got its name
	plain, err := x.fill(temp, f.Sealed, render)
	if err == nil && f.synced {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	f.SHA256 = plain.sum()
	last, err := x.ledger.file(f.What, f.Format)
	if err != nil {
		return err
	}
	if x.held(f, last, plain.n) {
		return x.unchanged(f, last)
	}
	info, err := os.Stat(temp.Name())
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	f.Size = info.Size()
	if err := os.Rename(temp.Name(), x.path(f.Name)); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if f.synced {
		if err := durable.SyncDir(filepath.Dir(x.path(f.Name))); err != nil {
			return err
		}
	}
	return x.written(f, last)
}

// fill renders to an open file, sealing on the way where that is asked for, and
// hashes what was rendered.
func (x *export) fill(to *os.File, sealed bool, render func(io.Writer) error) (*counter, error) {
	plain := &counter{Hash: sha256.New()}
	buffered := bufio.NewWriterSize(to, 1<<16)
	var out io.WriteCloser = nopCloser{buffered}
	if sealed {
		var err error
		if out, err = age.Encrypt(buffered, x.Recipients...); err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
	}
	err := render(io.MultiWriter(out, plain))
	return plain, errors.Join(err, out.Close(), buffered.Flush())
}

// seal encrypts a file's content for the recipients.
func (x *export) seal(content []byte) ([]byte, error) {
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, x.Recipients...)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return sealed.Bytes(), nil
}

// replaceFile puts content in place of a file, 0600, in one step for whoever
// reads it. It does not wait for the disk: what a power cut takes, the next
// export finds missing or empty, and writes again.
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

// forget removes the files of meetings that were forgotten since the last export.
func (x *export) forget(ctx context.Context) error {
	rows, err := x.archive.db.R.QueryContext(ctx, `SELECT recording_id FROM tombstones`)
	if err != nil {
		return fmt.Errorf("read tombstones: %w", err)
	}
	return sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		files, err := x.ledger.filesOf(id)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := x.remove(f); err != nil {
				return fmt.Errorf("forgotten meeting %d: %w", id, err)
			}
			if err := x.ledger.unlist(f.Format, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// remove deletes a file that has no place in the export any more.
func (x *export) remove(f exportedFile) error {
	if err := removeFile(x.path(f.Name)); err != nil {
		return err
	}
	x.count(func(r *ExportResult) { r.Removed++ })
	return x.ledger.drop(f.What, f.Format)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close is part of io.Closer.
func (nopCloser) Close() error { return nil }
