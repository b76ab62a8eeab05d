package archive

import (
	"errors"
	"fmt"
	"os"

	"github.com/mattn/go-sqlite3"
)

// inboxPageSize is the bytes of a page of a new inbox. Most of a delivery is its
// body; in SQLite's own pages of 4 KiB that is a dozen writes and checksums of
// its log instead of two.
const inboxPageSize = 16384

// newInboxFile makes an empty file, 0600, with pages of that size; one that is
// there is left as it is, whatever its pages. In a crash the file is empty or
// whole, and either serves.
func newInboxFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create inbox: %w", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() > 0 {
		return err
	}
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + escapePath(path) + "?mode=rw&_synchronous=FULL")
	if err != nil {
		return fmt.Errorf("create inbox: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// The journal's mode is the first page that is written; with it the size is set.
	if _, err := conn.(*sqlite3.SQLiteConn).Exec(fmt.Sprintf("PRAGMA page_size=%d; PRAGMA journal_mode=WAL", inboxPageSize), nil); err != nil {
		return fmt.Errorf("create inbox: %w", err)
	}
	return nil
}
