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
	err = db.UseWriter(ctx, func(conn *sql.Conn) error {
		done, end, err = db.eraseSectionOn(ctx, conn, at)
		return err
	})
	return done, end, err
}

func (db *DB) eraseSectionOn(ctx context.Context, conn *sql.Conn, at int64) (done bool, end int64, err error) {
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
	if end, err = eraseGaps(db.file, at, at+gapSection, func() ([]int64, error) { return readRoots(ctx, tx) }); err != nil {
		return false, 0, err
	}
	return true, end, commitFirstPage(ctx, tx)
}

// readRoots returns the first pages of all tables and indexes.
func readRoots(ctx context.Context, tx *sql.Tx) (roots []int64, err error) {
	roots = []int64{1}
	rows, err := tx.QueryContext(ctx, `SELECT rootpage FROM sqlite_schema WHERE rootpage > 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var root int64
		if err := rows.Scan(&root); err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, rows.Err()
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
// connection to the file: closing f gives up SQLite's locks. It fails for a file of 2^25
// pages.
func EraseFileGaps(f *os.File) error {
	_, err := eraseGaps(f, 0, 1<<62, func() ([]int64, error) {
		return nil, errors.New("it has more than 2^25 pages; delete it")
	})
	return err
}

// ambiguousPages is the number of pages from which a page is not known by its first byte.
// Pages without rows begin with the number of a page, whose first byte is then that of a
// page with rows.
const ambiguousPages = 1 << 25

// eraseGaps erases the gaps of the pages from one offset to another, syncs the file, and
// returns the offset after the last page. It asks for the roots of all trees where only
// these tell which pages have rows.
func eraseGaps(f *os.File, from, to int64, roots func() ([]int64, error)) (end int64, err error) {
	file, err := readPages(f)
	if file.size == 0 || err != nil {
		return from, err
	}
	changed := false
	if file.count < ambiguousPages {
		end, changed, err = file.eraseAll(from, to)
	} else {
		var first []int64
		if first, err = roots(); err == nil {
			end, changed, err = file.eraseTrees(first, from, to)
		}
	}
	if err != nil {
		return from, err
	}
	if changed {
		err = f.Sync()
	}
	return end, err
}

// pages is a database file: the size of its pages, how many bytes of each SQLite uses, and
// their number. size is 0 for an empty file.
type pages struct {
	*os.File
	size, usable int
	count        int64
}

func readPages(f *os.File) (pages, error) {
	var header [100]byte
	if _, err := f.ReadAt(header[:], 0); errors.Is(err, io.EOF) {
		return pages{}, nil
	} else if err != nil {
		return pages{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		return pages{}, err
	}
	size := int(binary.BigEndian.Uint16(header[16:]))
	if size == 1 {
		size = 1 << 16
	}
	if size < 512 || binary.BigEndian.Uint32(header[52:]) != 0 { // a file that shrinks by itself has further kinds of pages
		return pages{}, fmt.Errorf("its pages of %d bytes cannot be told apart (512 bytes at least, without auto_vacuum)", size)
	}
	return pages{f, size, size - int(header[20]), fi.Size() / int64(size)}, nil
}

// eraseAll erases the gaps between two offsets where the first byte of a page tells whether
// it has rows.
func (p pages) eraseAll(from, to int64) (end int64, changed bool, err error) {
	buf := make([]byte, max(1<<20, p.size))
	for end = from; end < to; {
		n, err := p.ReadAt(buf, end)
		if err != nil && !errors.Is(err, io.EOF) {
			return from, changed, err
		}
		if n -= n % p.size; n == 0 {
			break
		}
		for at := 0; at < n; at += p.size {
			erased, err := p.erase(buf[at:at+p.usable], end+int64(at))
			if err != nil {
				return from, changed, err
			}
			changed = changed || erased
		}
		end += int64(n)
	}
	return end, changed, nil
}

// erase overwrites the gap of a page at an offset.
func (p pages) erase(page []byte, at int64) (bool, error) {
	if at == 0 {
		return false, nil // the first page has the schema, and a header of its own before it
	}
	start, gap := findGap(page)
	if len(bytes.Trim(gap, "\x00")) == 0 {
		return false, nil
	}
	clear(gap)
	_, err := p.WriteAt(gap, at+int64(start))
	return true, err
}

// The first bytes of pages with rows.
const (
	innerOfIndex = 2
	innerOfTable = 5
	leafOfIndex  = 10
	leafOfTable  = 13
)

// findGap returns the unused bytes between the pointers to a page's rows and the rows, and
// where they begin; nil for a page without rows.
func findGap(page []byte) (at int, gap []byte) {
	header := 8
	switch page[0] {
	case innerOfIndex, innerOfTable:
		header = 12
	case leafOfIndex, leafOfTable:
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
