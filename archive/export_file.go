package archive

import (
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
)

func (x *export) path(name string) string { return filepath.Join(x.Dir, filepath.FromSlash(name)) }

// write renders a file and replaces it when its content is another one than
// that of the last export, or when the file is missing or cut short. A file that
// a person has edited since stays until the meeting itself changes.
func (x *export) write(f *exportedFile, key string, render func(io.Writer) error) error {
	var content bytes.Buffer
	if err := render(&content); err != nil {
		return err
	}
	sum := sha256.Sum256(content.Bytes())
	f.SHA256 = hex.EncodeToString(sum[:])
	f.Sealed = len(x.Recipients) > 0 && !f.open
	if x.held(f, key, content.Bytes()) {
		x.record(f, key, func(r *ExportResult) { r.Unchanged++ })
		return nil
	}
	stored := content.Bytes()
	if f.Sealed {
		var err error
		if stored, err = x.seal(stored); err != nil {
			return err
		}
	}
	f.Size = int64(len(stored))
	if err := replaceFile(x.path(f.Name), stored); err != nil {
		return err
	}
	x.record(f, key, func(r *ExportResult) { r.Written++ })
	return nil
}

func (x *export) record(f *exportedFile, key string, add func(*ExportResult)) {
	x.mu.Lock()
	x.ledger.Files[key] = f
	x.mu.Unlock()
	x.count(add)
}

// held tells whether the file on disk is this content already, and sets its size.
func (x *export) held(f *exportedFile, key string, content []byte) bool {
	info, err := os.Stat(x.path(f.Name))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	x.mu.Lock()
	last := x.ledger.Files[key]
	x.mu.Unlock()
	if last != nil && last.Name == f.Name && last.SHA256 == f.SHA256 && last.Sealed == f.Sealed {
		f.Size = last.Size
		return info.Size() > 0 || last.Size == 0
	}
	if f.Sealed || info.Size() != int64(len(content)) {
		return false
	}
	disk, err := os.ReadFile(x.path(f.Name))
	f.Size = info.Size()
	return err == nil && bytes.Equal(disk, content)
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
	return eachRow(rows, func(rows *sql.Rows) error {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		for _, format := range ExportFormats() {
			f := x.ledger.Files[ledgerKey(format, id)]
			if f == nil {
				continue
			}
			if err := os.Remove(x.path(f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove file of forgotten meeting %d: %w", id, err)
			}
			delete(x.ledger.Files, ledgerKey(format, id))
			x.result.Removed++
		}
		return nil
	})
}
