package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// newMemo returns a database with one number, and a Memo for values of it.
func newMemo(t *testing.T) (*DB, *Memo[int]) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.W.Exec(`CREATE TABLE n (n INTEGER); INSERT INTO n VALUES (0)`); err != nil {
		t.Fatal(err)
	}
	watch, err := db.NewWatch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { watch.Close() })
	return db, NewMemo[int](watch)
}

func TestMemoIsAsCurrentAsReading(t *testing.T) {
	db, memo := newMemo(t)
	reads := 0
	read := func() (n int, err error) {
		reads++
		return n, db.R.QueryRow(`SELECT n FROM n`).Scan(&n)
	}
	for want := range 5 {
		for range 3 {
			if n, err := memo.Get("n", read); n != want || err != nil {
				t.Fatalf("%d, %v; want %d", n, err, want)
			}
		}
		if _, err := db.W.Exec(`UPDATE n SET n = n + 1`); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 5 {
		t.Errorf("read %d times of 5 commits", reads)
	}
	failure := errors.New("failed")
	if _, err := memo.Get("x", func() (int, error) { return 1, failure }); err != failure {
		t.Error(err)
	}
	if n, err := memo.Get("x", func() (int, error) { return 2, nil }); n != 2 || err != nil {
		t.Errorf("after an error: %d, %v", n, err)
	}
}

// Whoever asks after a commit has returned is told its value or a later one, also while
// others ask and the Memo is full.
func TestMemoNeverAnswersFromBeforeACommit(t *testing.T) {
	db, memo := newMemo(t)
	var committed, asked atomic.Int64
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for committed.Load() < 200 || asked.Load() < 500 {
				least := committed.Load()
				key := fmt.Sprint(reader % 2)
				n, err := memo.Get(key, func() (n int, err error) { return n, db.R.QueryRow(`SELECT n FROM n`).Scan(&n) })
				if err != nil || int64(n) < least {
					t.Errorf("%d, %v after the commit of %d", n, err, least)
					return
				}
				asked.Add(1)
			}
		})
	}
	for n := range 200 {
		if _, err := db.W.Exec(`UPDATE n SET n = n + 1`); err != nil {
			t.Fatal(err)
		}
		committed.Store(int64(n) + 1)
	}
	wg.Wait()
}

func TestMemoIsBounded(t *testing.T) {
	_, memo := newMemo(t)
	for i := range memoSize + 10 {
		if n, err := memo.Get(fmt.Sprint(i), func() (int, error) { return i, nil }); n != i || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(memo.values) > memoSize {
		t.Errorf("%d values are remembered", len(memo.values))
	}
	if err := memo.watch.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := memo.Get("1", nil); err == nil {
		t.Error("answered by a closed database")
	}
}
