package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// gapSection is how many bytes of a file are gone through while writers wait.
const gapSection = 64 << 20

// EraseGaps overwrites the unused bytes in the middle of all pages. SQLite's secure_delete
// overwrites a deleted row where the row lies; an earlier copy of the row can be left in the
// middle of a page, from when rows moved between pages, and no deletion reaches that copy.
// EraseGaps reads the whole file; writers get their turn between sections of 64 MiB. done is
// false when another program reads or writes at that moment, so that the log holds pages.
func (db *DB) EraseGaps(ctx context.Context) (done bool, err error) {
	for at, end := int64(-1), int64(0); at != end; {
		at = end
		if done, end, err = db.eraseSection(ctx, at); err != nil {
			return false, fmt.Errorf("erase deleted rows of %s: %w", db.Path, WrapDiskFull(err))
		}
		if !done {
			return false, nil
		}
	}
	return true, nil
}

// eraseSection erases the gaps of the section that begins at an offset of the file, and
// returns the section's end, which is the offset itself at the end of the file. While it
// holds the lock of writers and the log is empty, no connection changes the file.
func (db *DB) eraseSection(ctx context.Context, at int64) (done bool, end int64, err error) {
	conn, err := db.W.Conn(ctx)
	if err != nil {
		return false, 0, err
	}
	defer conn.Close()
	if done, err = truncateLog(ctx, conn); !done || err != nil {
		return false, 0, err
	}
	// The connection would write the pages that it remembers back as they were.
	if _, err := conn.ExecContext(ctx, `PRAGMA shrink_memory`); err != nil {
		return false, 0, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return false, 0, err
	}
	defer tx.Rollback()
	switch fi, err := os.Stat(db.Path + "-wal"); {
	case err == nil && fi.Size() > 0:
		return false, 0, nil // another program has written meanwhile
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, 0, err
	}
	if end, err = eraseGaps(db.file, at, at+gapSection); err != nil {
		return false, 0, err
	}
	return true, end, commitFirstPage(ctx, tx)
}

// commitFirstPage commits a change of no content. After it, the connections of other
// programs read again the pages that they remember.
func commitFirstPage(ctx context.Context, tx *sql.Tx) error {
	var version int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}

// EraseFileGaps is [DB.EraseGaps] for a file with a rollback journal, which the caller has
// locked with a transaction that changed nothing. The caller closes f after the last
// connection to the file: closing f gives up SQLite's locks.
func EraseFileGaps(f *os.File) error {
	_, err := eraseGaps(f, 0, 1<<62)
	return err
}

// eraseGaps erases the gaps of the pages from one offset to another, syncs the file, and
// returns the offset after the last page.
func eraseGaps(f *os.File, from, to int64) (end int64, err error) {
	size, usable, err := readPageSize(f)
	if size == 0 || err != nil {
		return from, err
	}
	buf := make([]byte, max(1<<20, size))
	changed := false
	for end = from; end < to; {
		n, err := f.ReadAt(buf, end)
		if err != nil && !errors.Is(err, io.EOF) {
			return from, err
		}
		if n -= n % size; n == 0 {
			break
		}
		for page := 0; page < n; page += size {
			if end == 0 && page == 0 {
				continue // the first page has the schema, and a header of its own before it
			}
			at, gap := findGap(buf[page : page+usable])
			if len(bytes.Trim(gap, "\x00")) == 0 {
				continue
			}
			clear(gap)
			if _, err := f.WriteAt(gap, end+int64(page+at)); err != nil {
				return from, err
			}
			changed = true
		}
		end += int64(n)
	}
	if changed {
		err = f.Sync()
	}
	return end, err
}

// readPageSize returns the size of a file's pages, and how many bytes of each SQLite uses;
// 0 for an empty file.
func readPageSize(f *os.File) (size, usable int, err error) {
	var header [100]byte
	if _, err := f.ReadAt(header[:], 0); errors.Is(err, io.EOF) {
		return 0, 0, nil
	} else if err != nil {
		return 0, 0, err
	}
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if size = int(binary.BigEndian.Uint16(header[16:])); size == 1 {
		size = 1 << 16
	}
	usable = size - int(header[20])
	// Pages without rows begin with the number of a page. Its first byte can be taken for the
	// type of a page with rows from page 2^25 on, or where the file shrinks by itself.
	if size < 512 || fi.Size()/int64(size) >= 1<<25 || binary.BigEndian.Uint32(header[52:]) != 0 {
		return 0, 0, fmt.Errorf("its pages of %d bytes cannot be told apart in a file of %d bytes (2^25 pages at most, without auto_vacuum)", size, fi.Size())
	}
	return size, usable, nil
}

// findGap returns the unused bytes between the pointers to a page's rows and the rows, and
// where they begin; nil for a page without rows.
func findGap(page []byte) (at int, gap []byte) {
	header := 8
	switch page[0] {
	case 2, 5: // inner pages of an index, of a table
		header = 12
	case 10, 13: // their leaves
	default:
		return 0, nil
	}
	at = header + 2*int(binary.BigEndian.Uint16(page[3:]))
	rows := int(binary.BigEndian.Uint16(page[5:]))
	if rows == 0 {
		rows = 1 << 16
	}
	if at > rows || rows > len(page) {
		return 0, nil // damaged
	}
	return at, page[at:rows]
}
