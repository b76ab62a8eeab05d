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
	s := search{words: make([][]byte, len(list))}
	for i, word := range list {
		s.words[i] = []byte(word)
	}
	var err error
	if s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most)); err != nil {
		t.Fatal(err)
	}
	defer s.zstd.Close()
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
			contains := s.containsAny(content, 0)
			if !contains && isSQLite(content) {
				contains, err = s.rowsContain(t, path)
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

// search looks for words. It expands into the same memory again and again, since the
// bytes that begin a stream by chance can declare any length.
type search struct {
	words [][]byte
	zstd  *zstd.Decoder
	room  [depths][]byte // by depth
	s2    []byte
}

// depths is how many streams may lie within each other.
const depths = 3

// containsAny searches content and the compressed streams in it, which lie in depth
// other streams. S2 and Snappy need no expansion: they leave the first copy of a word plain.
// A whole stream has its words in its expansion alone: its own bytes are pieces of words
// and of other streams, which stand beside each other by chance.
func (s *search) containsAny(content []byte, depth int) bool {
	if depth < depths && bytes.HasPrefix(content, zstdMagic) {
		expanded, err := s.zstd.DecodeAll(content, s.room[depth][:0])
		s.room[depth] = expanded
		if err == nil {
			return s.containsAny(expanded, depth+1)
		}
	}
	if slices.ContainsFunc(s.words, func(word []byte) bool { return bytes.Contains(content, word) }) {
		return true
	}
	if depth == depths {
		return false
	}
	for _, c := range compressions {
		for at := 0; ; {
			next := bytes.Index(content[at:], c.magic)
			if next < 0 {
				break
			}
			at += next
			s.room[depth] = c.expand(s, content[at:], s.room[depth][:0])
			if len(s.room[depth]) > 0 && s.containsAny(s.room[depth], depth+1) {
				return true
			}
			at++
		}
	}
	return false
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// compressions lists the formats that begin with a signature. Expanding appends, stops
// at damage, such as other content behind the end, and returns the bytes before it.
var compressions = []struct {
	magic  []byte
	expand func(s *search, b, to []byte) []byte
}{
	{zstdMagic, func(s *search, b, to []byte) []byte {
		expanded, _ := s.zstd.DecodeAll(b, to) // damage ends it
		return expanded
	}},
	{[]byte{0x1f, 0x8b, 0x08}, func(_ *search, b, to []byte) []byte {
		d, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return to
		}
		d.Multistream(false)
		expanded := bytes.NewBuffer(to)
		_, _ = io.Copy(expanded, io.LimitReader(d, most)) // damage ends it
		return expanded.Bytes()
	}},
}

const most = 1 << 28 // bytes

func isSQLite(content []byte) bool { return bytes.HasPrefix(content, []byte("SQLite format 3\x00")) }

// rowsContain searches every value of every table in a copy of a database and its
// log.
func (s *search) rowsContain(t testing.TB, path string) (bool, error) {
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
		if slices.ContainsFunc(found, func(v []byte) bool { return s.containsAny(v, 0) || s.containsAny(s.decodeS2(v), 0) }) {
			return true, nil
		}
	}
	return false, nil
}

// decodeS2 expands a value if its declared length is possible for a row. The first
// bytes of other content can declare any length.
func (s *search) decodeS2(v []byte) []byte {
	n, err := s2.DecodedLen(v)
	if err != nil || n > 8<<20 {
		return nil
	}
	s.s2 = slices.Grow(s.s2[:0], n)
	expanded, err := s2.Decode(s.s2[:n], v)
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
