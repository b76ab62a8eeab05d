package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
	"minutebook/search/segment"
)

// TestBoltFilesAreSound has bbolt write buckets, large and small and within each other, and take
// some away again: each state is found sound.
func TestBoltFilesAreSound(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "root.bolt")
		_ = os.Remove(path)
		db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, PageSize: rapid.SampledFrom([]int{1024, 4096, 16384}).Draw(t, "page")})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for range rapid.IntRange(0, 12).Draw(t, "transactions") {
			outer := []byte(rapid.StringMatching("[a-d]").Draw(t, "bucket"))
			count, size := rapid.IntRange(0, 300).Draw(t, "count"), rapid.IntRange(0, 3000).Draw(t, "size")
			drop := rapid.IntRange(0, 4).Draw(t, "drop") == 0
			err := db.Update(func(tx *bolt.Tx) error {
				if drop && tx.Bucket(outer) != nil {
					return tx.DeleteBucket(outer)
				}
				b, err := tx.CreateBucketIfNotExists(outer)
				if err == nil {
					b, err = b.CreateBucketIfNotExists([]byte(fmt.Sprint("inner", count%5)))
				}
				for i := 0; i < count && err == nil; i++ {
					err = b.Put(binary.BigEndian.AppendUint64(nil, uint64(i*size)), make([]byte, size))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err == nil {
				err = checkBolt(raw)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDamagedPagesAreFound changes numbers in the list of an index's segments, with which bbolt
// panics in a goroutine of Bleve's, that then keeps the lock which a close waits for.
func TestDamagedPagesAreFound(t *testing.T) {
	testrun.SkipUnderRace(t)
	const root, free = 16, 32 // places in the description that have the number of a page
	const itself = 0          // stands for that number
	for name, damage := range map[string]struct {
		page, at int
		to       uint64
		want     string
	}{
		"a free page behind the file":  {free, 16, 1 << 40, "is none of its"},
		"a free page that is used":     {free, 16, itself, "is used twice"},
		"more free pages than room":    {free, 8, boltFree | 5000<<16, "is no list of free pages"},
		"a list of free pages gone":    {free, 8, boltLeaf, "is no list of free pages"},
		"another number of a page":     {root, 0, 77, "has the number 77"},
		"a root of another kind":       {root, 8, boltFree | 1<<16, "kind 0x10"},
		"a root that takes more pages": {root, 8, boltLeaf | 1<<16 | 1<<50, "is none of its"},
		"an element behind its page":   {root, 16, boltBucket | 5<<44, "ends behind it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.add(threeMeetings()...)
			h.catchUp()
			h.close()
			for _, path := range filesOf(t, h.dir, "root.bolt") {
				index := filepath.Dir(filepath.Dir(path))
				if err := checkRootFile(index); err != nil {
					t.Fatal(err)
				}
				rewriteFiles(t, []string{path}, func(raw []byte) []byte {
					meta := newestBoltMeta(raw)
					page := binary.NativeEndian.Uint64(meta[damage.page:])
					to := damage.to
					if to == itself {
						to = page
					}
					binary.NativeEndian.PutUint64(raw[int(page)*os.Getpagesize()+damage.at:], to)
					return raw
				})
				if err := checkRootFile(index); !errors.Is(err, segment.ErrDamaged) || !strings.Contains(err.Error(), damage.want) {
					t.Errorf("the check says %v, want %q", err, damage.want)
				}
			}
			h.open()
			h.add(threeMeetings()[0])
			h.catchUp()
			checkAnswers(h)
			h.close()
		})
	}
}
