package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzGaps: in a file of any bytes only gaps are overwritten, with zeros, and a tree of
// damaged pages comes to an end.
func FuzzGaps(f *testing.F) {
	path := filepath.Join(f.TempDir(), "whole.db")
	db, err := OpenPaged(f.Context(), path, 512)
	if err != nil {
		f.Fatal(err)
	}
	for _, query := range []string{`CREATE TABLE t (a TEXT)`, `INSERT INTO t SELECT hex(randomblob(40)) FROM (SELECT 1 UNION ALL SELECT 2), (SELECT 1 UNION ALL SELECT 2), (SELECT 1 UNION ALL SELECT 2)`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := db.W.Exec(query); err != nil {
			f.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:700])
	// Each page has the next one as its first child, and the first one as all others.
	loop := append(bytes.Clone(whole[:512]), make([]byte, 20*512)...)
	loop[100] = leafOfTable
	for n := 2; n < 21; n++ {
		page := loop[(n-1)*512 : n*512]
		page[0], page[4], page[11], page[303], page[307] = innerOfTable, 99, 2, byte(n+1), 2
		for cell := range 99 {
			binary.BigEndian.PutUint16(page[12+2*cell:], uint16(300+4*min(cell, 1)))
		}
	}
	loop[20*512] = leafOfTable
	f.Add(loop)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, erase := range []func(p pages) error{
			func(p pages) error { _, _, err := p.eraseAll(0, 1<<62); return err },
			func(p pages) error { _, _, err := p.eraseTrees([]int64{1, 2}, 0, 1<<62); return err },
		} {
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := readPages(file); err == nil && p.size > 0 {
				_ = erase(p) // pages that are no tree are an error
			}
			after, err := io.ReadAll(file)
			if err = errors.Join(err, file.Close()); err != nil || len(after) != len(raw) {
				t.Fatalf("%d bytes became %d, %v", len(raw), len(after), err)
			}
			for at := range raw {
				if after[at] != raw[at] && (after[at] != 0 || at < 512) {
					t.Fatalf("byte %d of %x became %x", at, raw, after[at])
				}
			}
		}
	})
}
