package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive/archivetest"
)

// FuzzAnnounced: whatever stands in the list that a killed export has left, the next one
// is made, touches nothing outside its directory and removes the list.
func FuzzAnnounced(f *testing.F) {
	f.Add([]byte("{\"What\":\"1\",\"Format\":\"txt\",\"Name\":\"2026/a.txt\"}\n{\"What\":\"1\",\"Format\":\"txt\",\"Name\":\"b.txt\"}\n{\"What\":\"1\"}\nx\n{\"What\":"))
	f.Add([]byte("{\"What\":\"2\",\"Format\":\"txt\",\"Name\":\"../outside\"}\n{\"What\":\"2\",\"Format\":\"txt\",\"Name\":\"a/../../outside\"}\n"))
	f.Add([]byte("{\"What\":\"2\",\"Format\":\"txt\",\"Name\":\".\"}\n{\"What\":\"2\",\"Format\":\"txt\",\"Name\":\"b\"}\n"))
	f.Add([]byte("{\"What\":\"file:meetings.ndjson\",\"Format\":\"ndjson\",\"Name\":\".minutebook-export.db\",\"SHA256\":7}\n[]\n{\"Sealed\":1}\n"))
	f.Add([]byte("{\"What\":\"person:\\u0000\",\"Format\":\"\\u0000\",\"Name\":\"a\\u0000b\",\"Size\":-1}\n{\"What\":\"person:\\u0000\",\"Format\":\"\\u0000\",\"Name\":\"c\"}\n"))
	a, root := archivetest.New(f), f.TempDir()
	archivetest.Apply(f, a, archivetest.Epoch, archivetest.Meeting(1, "One", "said"))
	outside, dir := filepath.Join(root, "outside"), filepath.Join(root, "a", "export")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(outside, nil, 0o600)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pending := filepath.Join(dir, pendingName)
		if err := os.WriteFile(pending, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := Run(t.Context(), a, Options{Dir: dir, Format: Text})
			if err != nil || r.Written+r.Unchanged != 1 {
				t.Fatalf("%q: %+v, %v", raw, r, err)
			}
		}
		if _, err := os.Stat(outside); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if _, err := os.Stat(pending); err == nil {
			t.Errorf("%q stays", raw)
		}
	})
}

// FuzzTableList: beside any list of tables, the tables are made as into an empty directory, or
// the list is refused and stays as it is.
func FuzzTableList(f *testing.F) {
	a, dir := archivetest.New(f), f.TempDir()
	archivetest.Apply(f, a, archivetest.Epoch, archivetest.Meeting(1, "One", "said"))
	if _, err := Run(f.Context(), a, Options{Dir: dir, Format: Parquet}); err != nil {
		f.Fatal(err)
	}
	list := filepath.Join(dir, tableListName)
	whole, err := os.ReadFile(list)
	if err != nil {
		f.Fatal(err)
	}
	lineage, err := a.Lineage(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	want := archivetest.Tree(f, dir)
	f.Add(strings.ReplaceAll(string(whole), lineage[0], "LINEAGE"))
	f.Add(`{"version":1,"lineage":["LINEAGE"],"files":{"meetings/month=2026-03/meetings.parquet":{"size":-1},"../outside":{},"meetings/month=../x":null}}`)
	f.Add(`{"version":1,"lineage":["LINEAGE","x"],"files":{}}`)
	f.Add(`{"version":1,"lineage":[],"files":{}}`)
	f.Add(`{"version":1e0,"lineage":null,"files":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "LINEAGE", lineage[0])
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Run(t.Context(), a, Options{Dir: dir, Format: Parquet})
		got := archivetest.Tree(t, dir)
		if err != nil && (got[tableListName] != text || !strings.Contains(err.Error(), tableListName) && !strings.Contains(err.Error(), "another archive")) {
			t.Errorf("%q becomes %q: %v", text, got[tableListName], err)
		}
		for name, content := range want {
			if strings.HasSuffix(name, ".parquet") && got[name] != content {
				t.Errorf("%q: %s differs: %v", text, name, err)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%q: %d files, want %d", text, len(got), len(want))
		}
	})
}
