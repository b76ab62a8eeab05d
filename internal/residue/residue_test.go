package residue

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// TestFindLooksIntoEverything hides a word in every way that the archive keeps
// content in.
func TestFindLooksIntoEverything(t *testing.T) {
	const word = "Xylophonist-Q7w3"
	text := bytes.Repeat([]byte("some text around the "+word+" that is pressed together. "), 40)
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	pressed := packer.EncodeAll(text, nil)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(pressed); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	behind := func(b []byte) []byte { return append(append(bytes.Repeat([]byte{0x28, 0xb5}, 50), b...), "behind"...) }
	for name, content := range map[string][]byte{"plain": text, "zstd": behind(pressed), "zstd alone": pressed, "zstd in gzip": behind(zipped.Bytes())} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Find(t, word, dir, filepath.Join(dir, "missing")); len(got) != 1 {
			t.Errorf("%s: found in %v", name, got)
		}
		if got := Find(t, "Trombonist", dir); got != nil {
			t.Errorf("%s: another word was found in %v", name, got)
		}
	}
	random := make([]byte, 20_000) // so that the row has many pages
	for i := range random {
		random[i] = byte(i*i>>3 + i*7>>2)
	}
	for name, body := range map[string][]byte{"zstd": packer.EncodeAll(append(random, text...), nil), "s2": s2.Encode(nil, append(random, text...))} {
		dir := t.TempDir()
		db, err := sql.Open("sqlite3", filepath.Join(dir, "file.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`CREATE TABLE bodies (body BLOB); INSERT INTO bodies VALUES (?)`, body); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if got := Find(t, word, dir); len(got) != 1 {
			t.Errorf("%s in a row: found in %v", name, got)
		}
	}
}
