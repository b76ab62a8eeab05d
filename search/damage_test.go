package search

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesOf lists the index's files whose names end so.
func filesOf(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(dir, "index"), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no file ends in %s: %v", suffix, err)
	}
	return found
}

func rewrite(t *testing.T, paths []string, change func([]byte) []byte) {
	t.Helper()
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err == nil {
			err = os.WriteFile(p, change(bytes.Clone(raw)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamage breaks the files of a closed index in every way there is a name
// for: it must open, and answer right once it has caught up.
func TestDamage(t *testing.T) {
	half := func(b []byte) []byte { return b[:len(b)/2] }
	for name, breakIt := range map[string]func(t *testing.T, dir string){
		"everything gone":   func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "index")) },
		"a segment missing": func(t *testing.T, dir string) { os.Remove(filesOf(t, dir, ".zap")[0]) },
		"segments cut":      func(t *testing.T, dir string) { rewrite(t, filesOf(t, dir, ".zap"), half) },
		"segments empty": func(t *testing.T, dir string) {
			rewrite(t, filesOf(t, dir, ".zap"), func([]byte) []byte { return nil })
		},
		"root cut": func(t *testing.T, dir string) { rewrite(t, filesOf(t, dir, "root.bolt"), half) },
		"root cut a little": func(t *testing.T, dir string) {
			rewrite(t, filesOf(t, dir, "root.bolt"), func(b []byte) []byte { return b[:len(b)*3/4] })
		},
		"root garbage": func(t *testing.T, dir string) {
			rewrite(t, filesOf(t, dir, "root.bolt"), func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) })
		},
		"description missing": func(t *testing.T, dir string) { os.Remove(filesOf(t, dir, "index_meta.json")[0]) },
		"description garbage": func(t *testing.T, dir string) { rewrite(t, filesOf(t, dir, "index_meta.json"), half) },
		"moments missing": func(t *testing.T, dir string) {
			os.RemoveAll(filepath.Join(dir, "index", name{format, 1}.String(), momentsFolder))
		},
		"of an older format": func(t *testing.T, dir string) {
			os.Rename(filepath.Join(dir, "index", name{format, 1}.String()), filepath.Join(dir, "index", "v0-000001"))
		},
		"a stranger's folder": func(t *testing.T, dir string) { os.MkdirAll(filepath.Join(dir, "index", "notes"), 0o700) },
		"an empty generation": func(t *testing.T, dir string) {
			os.MkdirAll(filepath.Join(dir, "index", name{format, 2}.String()), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.add(threeMeetings()...)
			h.catchUp()
			h.close()
			breakIt(t, h.dir)
			h.open()
			h.catchUp()
			soundly(h)
		})
	}
}

func soundly(h *house) {
	h.t.Helper()
	for query, want := range map[string]string{"": "3 2 1", "budget": "1", `"were cut"`: "1", "vertrag": "3", "marketing": "1 2"} {
		if got := ids(h.search(Request{Query: query})); got != want {
			h.t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if err := h.index.Check(context.Background()); err != nil {
		h.t.Error(err)
	}
}

// TestFlippedByte flips a byte in the middle of a segment, which opening does
// not notice: the check does, and the index is built anew.
func TestFlippedByte(t *testing.T) {
	h := newHouse(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.close()
	rewrite(t, filesOf(t, h.dir, ".zap"), func(b []byte) []byte { b[len(b)/3] ^= 0x20; return b })
	h.open()
	h.catchUp()
	if err := h.index.Check(context.Background()); !errors.Is(err, ErrUnsound) {
		t.Fatalf("check of a damaged index: %v", err)
	}
	h.catchUp()
	soundly(h)
	if h.index.serving.number != 2 {
		t.Errorf("generation %d answers, want 2", h.index.serving.number)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "index", name{format, 1}.String())); !os.IsNotExist(err) {
		t.Errorf("the damaged index is still there: %v", err)
	}
}

// TestSecondOpener is refused and leaves the first one's index alone.
func TestSecondOpener(t *testing.T) {
	h := newHouse(t)
	h.add(threeMeetings()...)
	h.catchUp()
	if x, err := Open(context.Background(), Options{Archive: h.archive}); err == nil {
		x.Close()
		t.Fatal("a second opener is let in")
	}
	soundly(h)
}
