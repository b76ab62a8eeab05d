package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestNothingIsLeftOfDeletedRows fills a table so that rows move between pages, deletes
// them, and looks for their words in the file. Without EraseGaps, copies are left there.
// Another program that remembers pages must not bring the words back.
func TestNothingIsLeftOfDeletedRows(t *testing.T) {
	t.Parallel()
	for _, pageSize := range []int{0, 512, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db, err := OpenPaged(t.Context(), path, pageSize)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			exec := func(db *DB, query string, args ...any) {
				t.Helper()
				if _, err := db.W.Exec(query, args...); err != nil {
					t.Fatal(err)
				}
			}
			insert := func(db *DB, from, to int, word string) {
				t.Helper()
				err := db.WriteTx(t.Context(), func(tx *sql.Tx) error {
					for n := from; n < to; n++ {
						// Neither rises with n, so that pages split in their middle.
						if _, err := tx.Exec(`INSERT INTO t VALUES (?, ?)`, n*7919%100_003, fmt.Sprintf("%s %x %s", strings.Repeat("-", n%90), n*104729%65536, strings.Repeat(word, 1+n%3))); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			exec(db, `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)`)
			exec(db, `CREATE INDEX t_by_name ON t (substr(name, -14))`)
			for n := 0; n < 24000; n += 8 {
				insert(db, n, n+7, "marmalade")
				insert(db, n+7, n+8, "zebrafish")
			}
			exec(db, `UPDATE t SET name = name || name WHERE id % 3 = 0`) // rows that grow move too
			exec(db, `DELETE FROM t WHERE name LIKE '%zebrafish'`)
			if err := db.TruncateWAL(t.Context()); err != nil {
				t.Fatal(err)
			}
			words := func() int {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return bytes.Count(data, []byte("zebrafi"))
			}
			before := words()
			if before == 0 {
				t.Fatal("no copy was left behind")
			}

			other, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			var length int
			if err := other.W.QueryRow(`SELECT sum(length(name)) FROM t`).Scan(&length); err != nil { // it remembers all pages
				t.Fatal(err)
			}
			if done, err := db.EraseGaps(t.Context()); !done || err != nil {
				t.Fatal(done, err)
			}
			if n := words(); n != 0 {
				t.Errorf("%d words of deleted rows are left of %d", n, before)
			}
			for _, db := range []*DB{db, other} { // all pages are written as they are remembered
				exec(db, `UPDATE t SET name = replace(name, 'marma', 'MARMA')`)
				if err := db.TruncateWAL(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := words(); n != 0 {
				t.Errorf("%d words of deleted rows came back", n)
			}
			var rows int
			var ok string
			if err := db.R.QueryRow(`SELECT count(*), (SELECT * FROM pragma_integrity_check) FROM t`).Scan(&rows, &ok); err != nil || rows != 21000 || ok != "ok" {
				t.Errorf("%d rows, %s, %v", rows, ok, err)
			}
			t.Logf("%d words before", before)
		})
	}
}

// TestGapsOfALargeFileAreErased makes a file of more than 2^25 pages, nearly all of them
// never written. The rows that come then have overflow pages that begin like pages with
// rows: they are not touched.
func TestGapsOfALargeFileAreErased(t *testing.T) {
	testrun.SkipUnderRace(t)
	path := filepath.Join(t.TempDir(), "a.db")
	open := func() *DB {
		t.Helper()
		db, err := OpenPaged(t.Context(), path, 512)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	exec := func(db *DB, queries ...string) {
		t.Helper()
		for _, query := range queries {
			if _, err := db.W.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	const rows = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 4000)
		INSERT INTO t SELECT n * 7919 %% 100003 + %d, hex(randomblob(9)) || 'marmalade' FROM n`
	db := open()
	exec(db, `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)`, `CREATE INDEX t_by_name ON t (name)`, fmt.Sprintf(rows, 0))
	if err := errors.Join(db.TruncateWAL(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const pages = 1<<25 + 1000
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, pages), 28)
	if err := errors.Join(err, f.Truncate(pages*512), f.Close()); err != nil {
		t.Skip("the file system has no files of 16 GB: ", err)
	}
	db = open()
	defer db.Close()
	exec(db, fmt.Sprintf(rows, 200000), `CREATE TABLE blobs (b BLOB)`, `INSERT INTO blobs VALUES (unhex(replace(hex(zeroblob(300000)), '00', '01')))`)
	sum := func() (text string) {
		t.Helper()
		if err := db.R.QueryRow(`SELECT group_concat(hex(b)) FROM blobs`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	if err := db.TruncateWAL(t.Context()); err != nil {
		t.Fatal(err)
	}
	plant(t, db, "zebrafish")
	words := func() (n int) {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		buf := make([]byte, 8<<20)
		for _, at := range []int64{0, 512 << 25} { // the rest was never written
			read, err := f.ReadAt(buf, at)
			if err != nil && err != io.EOF {
				t.Fatal(err)
			}
			n += bytes.Count(buf[:read], []byte("zebrafish"))
		}
		return n
	}
	before, content := words(), sum()
	done, err := db.EraseGaps(t.Context())
	if err != nil || !done || before < 500 || words() != 0 {
		t.Errorf("%d words of deleted rows are left of %d; %t, %v", words(), before, done, err)
	}
	var count, indexed int
	if err := db.R.QueryRow(`SELECT (SELECT count(*) FROM t NOT INDEXED WHERE name LIKE '%marmalade'), (SELECT count(*) FROM t INDEXED BY t_by_name WHERE name > '')`).Scan(&count, &indexed); err != nil || count != indexed || count < 5000 {
		t.Errorf("%d rows, %d in the index, %v", count, indexed, err)
	}
	exec(db, `PRAGMA shrink_memory`)
	if sum() != content {
		t.Error("the blobs have changed")
	}
}

// plant writes a word into the gaps of all pages with rows, as rows that moved leave it.
func plant(t *testing.T, db *DB, word string) {
	t.Helper()
	file, err := readPages(db.file)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := Column[int64](t.Context(), db.R, `SELECT rootpage FROM sqlite_schema`)
	for _, root := range roots {
		levels, failed := file.measureTree(root)
		err = errors.Join(err, failed, file.walkTree(root, levels, func(page int64) error {
			buf := make([]byte, file.usable)
			_, failed := file.ReadAt(buf, (page-1)*512)
			if at, gap := findGap(buf); len(gap) >= len(word) {
				_, failed = file.WriteAt([]byte(word), (page-1)*512+int64(at))
			}
			return failed
		}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A log that somebody reads can hold pages that are newer than those of the file.
func TestGapsOfALogThatIsReadAreLeft(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.W.Exec(`CREATE TABLE t (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	reading, err := db.R.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRow(`SELECT count(*) FROM t`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO t VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	if done, err := db.EraseGaps(t.Context()); done || err != nil {
		t.Fatal("it is done, ", err)
	}
	reading.Rollback()
	if done, err := db.EraseGaps(t.Context()); !done || err != nil {
		t.Fatal("it is not done, ", err)
	}
}

// Another program's writer reads pages in the middle of an erasure, and remembers them. It
// must not write them back afterwards.
func TestPagesReadDuringAnErasureAreReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.W.Exec(`CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.TruncateWAL(t.Context()); err != nil {
		t.Fatal(err)
	}
	gap := []byte("marmalade")
	if _, err := db.file.WriteAt(gap, 4096+1000); err != nil { // a copy that rows left behind
		t.Fatal(err)
	}
	other, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := db.W.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := other.W.QueryRow(`SELECT n FROM t`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := eraseGaps(db.file, 0, 1<<20, nil); err != nil {
		t.Fatal(err)
	}
	if err := commitFirstPage(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	if _, err := other.W.Exec(`UPDATE t SET n = 2`); err != nil {
		t.Fatal(err)
	}
	if err := other.TruncateWAL(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, gap) {
		t.Errorf("the copy came back (%v)", err)
	}
}
