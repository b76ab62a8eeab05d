// Package residue searches for bytes that should be gone, for tests of erasure. It
// searches every file below a directory, plain and decompressed. It reads the rows
// of SQLite databases as well, because a body longer than a page lies in the file
// in pieces.
package residue

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	_ "github.com/mattn/go-sqlite3" // opens copies of databases
)

// Find returns the files below the directories that contain a word: plain,
// compressed, or in a row of a database.
func Find(t testing.TB, word string, dirs ...string) []string {
	t.Helper()
	return FindAny(t, []string{word}, dirs...)
}

// FindAny is Find for several words at once.
func FindAny(t testing.TB, list []string, dirs ...string) []string {
	t.Helper()
	words := make([][]byte, len(list))
	for i, word := range list {
		words[i] = []byte(word)
	}
	var files []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			contains := containsAny(content, words, 0)
			if !contains && isSQLite(content) {
				contains, err = rowsContain(t, path, words)
			}
			if contains {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// containsAny searches content and the compressed streams in it, depth levels
// deep. S2 and Snappy need no expansion: they leave the first copy of a word plain.
func containsAny(content []byte, words [][]byte, depth int) bool {
	if slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(content, word) }) {
		return true
	}
	if depth == 3 {
		return false
	}
	for _, c := range compressions {
		for at := 0; ; {
			next := bytes.Index(content[at:], c.magic)
			if next < 0 {
				break
			}
			at += next
			if expanded := c.expand(content[at:]); len(expanded) > 0 && containsAny(expanded, words, depth+1) {
				return true
			}
			at++
		}
	}
	return false
}

// compressions lists the formats that begin with a signature. Expanding stops at
// damage, such as other content behind the end, and returns the bytes before it.
var compressions = []struct {
	magic  []byte
	expand func([]byte) []byte
}{
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, func(b []byte) []byte {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			return nil
		}
		defer d.Close()
		expanded, _ := d.DecodeAll(b, nil) // damage ends it
		return expanded
	}},
	{[]byte{0x1f, 0x8b, 0x08}, func(b []byte) []byte {
		d, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil
		}
		d.Multistream(false)
		expanded, _ := io.ReadAll(io.LimitReader(d, most))
		return expanded
	}},
}

const most = 1 << 28 // bytes

func isSQLite(content []byte) bool { return bytes.HasPrefix(content, []byte("SQLite format 3\x00")) }

// rowsContain searches every value of every table in a copy of a database and its
// log.
func rowsContain(t testing.TB, path string, words [][]byte) (bool, error) {
	dir := t.TempDir()
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "copy"+end), b, 0o600)
		}
		if err != nil {
			return false, err
		}
	}
	db, err := sql.Open("sqlite3", filepath.Join(dir, "copy"))
	if err != nil {
		return false, err
	}
	defer db.Close()
	tables, err := readValues(db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	for _, table := range tables {
		found, err := readValues(db, `SELECT * FROM "`+string(table)+`"`)
		if err != nil {
			return false, fmt.Errorf("read %s of %s: %w", table, path, err)
		}
		if slices.ContainsFunc(found, func(v []byte) bool { return containsAny(v, words, 0) || containsAny(decodeS2(v), words, 0) }) {
			return true, nil
		}
	}
	return false, nil
}

// decodeS2 expands a value if its declared length is possible for a row. The first
// bytes of other content can declare any length.
func decodeS2(v []byte) []byte {
	if n, err := s2.DecodedLen(v); err != nil || n > 8<<20 {
		return nil
	}
	expanded, err := s2.Decode(nil, v)
	if err != nil {
		return nil
	}
	return expanded
}

func readValues(db *sql.DB, query string) (list [][]byte, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]sql.RawBytes, len(columns))
		to := make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		for _, v := range row {
			list = append(list, bytes.Clone(v))
		}
	}
	return list, rows.Err()
}
