package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	zap "github.com/blevesearch/zapx/v17"
)

// filesWith returns the files of the index that have a word in them: as it
// stands, in any case, or among the terms of a segment, whose dictionaries are
// coded so that no word can be seen in their bytes.
func filesWith(t *testing.T, h *fixture, word string) (files []string) {
	t.Helper()
	for try := 0; ; try++ {
		found, err := findInFiles(filepath.Join(h.dir, "index"), word)
		if err == nil {
			return found
		}
		if try == 100 { // a merge in the background comes to its end before
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func findInFiles(dir, word string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(bytes.ToLower(raw))
		if filepath.Ext(path) == ".zap" {
			more, err := termsOf(path)
			if err != nil {
				return err
			}
			text += more
		}
		if strings.Contains(text, word) {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// termsOf lists all terms of a segment's file.
func termsOf(path string) (string, error) {
	var terms strings.Builder
	seg, err := (&zap.ZapPlugin{}).Open(path)
	if err != nil {
		return "", err
	}
	defer seg.Close()
	for _, field := range seg.Fields() {
		dict, err := seg.Dictionary(field)
		if err != nil {
			return "", err
		}
		it := dict.AutomatonIterator(nil, nil, nil)
		for {
			e, err := it.Next()
			if err != nil {
				return "", err
			}
			if e == nil {
				break
			}
			terms.WriteString(e.Term + "\n")
		}
	}
	return terms.String(), nil
}

// TestForgetLeavesNoWords greps the index for the words of a forgotten meeting:
// in an index of one segment, in one of many, and in one that is searched all
// the while.
func TestForgetLeavesNoWords(t *testing.T) {
	const word, name = "zyxwoqvutk", "qwzjfxgplb"
	for _, more := range []int{0, 1, 12} {
		t.Run(fmt.Sprintf("%d more batches", more), func(t *testing.T) {
			h := newFixture(t)
			add := func(id int64, title, speaker, text string) {
				h.add(meeting(id, title, "en", day(int(id)), []utterance{{0, speaker, text}, {70, "Bob Stone", "and something else"}}, nil))
			}
			add(1, "The "+word+" plan", name+" Lee", "We talk of the "+word+" and the rest.")
			add(2, "Another", "Anna Lee", "We talk of other things.")
			h.catchUp()
			for i := range more {
				add(int64(3+i), "Later", "Anna Lee", fmt.Sprintf("Later we talk of number%d.", i))
				h.catchUp()
			}
			if len(filesWith(t, h, word)) == 0 || len(filesWith(t, h, name)) == 0 {
				t.Fatal("the words are not in the index: this test would find nothing")
			}
			stop, searching := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(searching)
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = h.index.Search(t.Context(), Request{Query: "talk", Viewer: everyone})
					}
				}
			}()
			_, err := h.archive.Forget(t.Context(), 1, "asked to")
			close(stop)
			<-searching
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []string{word, name} {
				if files := filesWith(t, h, w); files != nil {
					t.Errorf("%q is still in %v", w, files)
				}
			}
			if n := h.index.serving.number; n != 1 {
				t.Errorf("the index was built anew, as generation %d", n)
			}
			if got := h.search(Request{Query: "talk"}).Total; got != 1+more {
				t.Errorf("%d meetings are found, want %d", got, 1+more)
			}
			if err := h.index.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForgetOnAClosedIndex has Forget not say that it is done.
func TestForgetOnAClosedIndex(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "words"}}, nil))
	h.catchUp()
	if err := h.index.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.archive.Forget(t.Context(), 1, "asked to"); err == nil {
		t.Error("forgotten, it says, while the index has it")
	}
	var err error
	if h.index, err = Open(t.Context(), Options{Archive: h.archive}); err != nil {
		t.Fatal(err)
	}
	if err := h.archive.FinishForgetting(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestForgetTheOnlyMeeting leaves an index of nothing, built anew.
func TestForgetTheOnlyMeeting(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "Onlyzxqword", "en", day(1), []utterance{{0, "Anna Lee", "onlyzxqword"}}, nil))
	h.catchUp()
	if len(filesWith(t, h, "onlyzxqword")) == 0 {
		t.Fatal("the word is not in the index: this test would find nothing")
	}
	if _, err := h.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	if files := filesWith(t, h, "onlyzxqword"); files != nil {
		t.Errorf("still in %v", files)
	}
}

// TestForgetSeesFilesBehindABracket: the path of a data directory is no pattern.
func TestForgetSeesFilesBehindABracket(t *testing.T) {
	h := &fixture{t: t, dir: filepath.Join(t.TempDir(), "minutes [team]")}
	h.open()
	t.Cleanup(h.close)
	s := h.index.serving.moments
	// A folder that is not empty: Bleve would remove a file as soon as it has written.
	old := filepath.Join(s.path, "store", "old.zap", "rest")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if left, err := s.leftovers(); err != nil || left != filesLeft {
		t.Errorf("with a file of no current segment: %d, %v", left, err)
	}
}

// TestForgetEndsWithItsContext forgets while the index is being written, as long builds do.
func TestForgetEndsWithItsContext(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "words"}}, nil))
	h.catchUp()
	if err := h.index.lockWork(t.Context(), "build"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := h.archive.Forget(ctx, 1, "asked to")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end with its context")
	}
	h.index.unlockWork()
	if err := h.archive.FinishForgetting(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCloseDuringASearch closes the index while a search is on its way to ask for the progress.
func TestCloseDuringASearch(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	closed, asked := make(chan error, 1), make(chan struct{})
	err := h.index.ask(t.Context(), everyone, func(*snapshot) error {
		go func() { closed <- h.index.Close() }()
		go func() {
			defer close(asked)
			for err := error(nil); err == nil; _, _, err = h.index.currentGenerations() {
				time.Sleep(time.Millisecond)
			}
			h.index.Progress()
		}()
		select {
		case <-asked:
			return nil
		case <-time.After(5 * time.Minute):
			return errors.New("the search waits for the close, which waits for the search")
		}
	})
	if err := errors.Join(err, <-closed); err != nil {
		t.Error(err)
	}
}
