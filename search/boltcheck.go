package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"minutebook/search/segment"
)

// checkRootFile fails for an index whose list of segments, a bbolt database, has damaged pages.
// bbolt ends the program where it reads past the end of the file, and where it panics in a
// goroutine of Bleve's that writes, its lock is kept and a close never ends. A file that another
// process has open passes: it is not whole at every moment, and Bleve does not open it.
func checkRootFile(index string) error {
	f, err := os.Open(filepath.Join(index, "store", "root.bolt"))
	if err != nil {
		return err
	}
	defer f.Close() // and with it the lock
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", filepath.Base(f.Name()), err)
	}
	raw, err := io.ReadAll(f)
	if err == nil {
		err = checkBolt(raw)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", segment.ErrDamaged, filepath.Base(f.Name()), err)
	}
	return nil
}

// The layout of bbolt's pages: each begins with its id, kind, number of elements, and how many
// more pages it takes. The first two describe the file in turns.
const (
	boltMagic      = 0xED0CDAED
	boltMetaSize   = 64
	boltHeaderSize = 16 // of a page, and of each element of a branch or leaf
	boltBranch     = 0x01
	boltLeaf       = 0x02
	boltFree       = 0x10
	boltBucket     = 0x01 // marks an element of a leaf
	boltNoFree     = math.MaxUint64
)

// boltPages are the pages of a file, of which each is in use once, or free.
type boltPages struct {
	raw   []byte
	size  uint64 // of a page
	count uint64
	taken map[uint64]bool
}

// checkBolt fails where a bucket or the list of free pages of a bbolt file leads to a page that
// cannot be read, or that another one leads to.
func checkBolt(raw []byte) error {
	if len(raw) == 0 {
		return errors.New("it is empty") // its creation was cut off
	}
	meta := newestBoltMeta(raw)
	if meta == nil {
		return errors.New("no description of its pages can be read")
	}
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(meta[at:]) }
	root, free := number(16), number(32)
	p := boltPages{raw, uint64(binary.NativeEndian.Uint32(meta[8:])), number(40), map[uint64]bool{}}
	if p.size < boltHeaderSize+boltMetaSize || uint64(len(raw))/p.size < p.count {
		return fmt.Errorf("it has %d bytes, and not %d pages of %d", len(raw), p.count, p.size)
	}
	err := p.walk(root)
	if err == nil && free != boltNoFree {
		err = p.checkFree(free)
	}
	return err
}

// newestBoltMeta returns the newer description that is whole; nil: none is. The second begins
// where its own size of pages says.
func newestBoltMeta(raw []byte) (newest []byte) {
	for page := 0; len(raw) >= page+boltHeaderSize+boltMetaSize; page = max(1024, 2*page) {
		meta := raw[page+boltHeaderSize:][:boltMetaSize]
		sum := fnv.New64a()
		sum.Write(meta[:56])
		switch {
		case binary.NativeEndian.Uint32(meta) != boltMagic || binary.NativeEndian.Uint64(meta[56:]) != sum.Sum64():
		case page > 0 && int(binary.NativeEndian.Uint32(meta[8:])) != page:
		case newest == nil || binary.NativeEndian.Uint64(meta[48:]) > binary.NativeEndian.Uint64(newest[48:]):
			newest = meta
		}
	}
	return newest
}

// take marks a page as one that is used.
func (p boltPages) take(id uint64) error {
	if id < 2 || id >= p.count {
		return fmt.Errorf("page %d is none of its %d", id, p.count)
	}
	if p.taken[id] {
		return fmt.Errorf("page %d is used twice", id)
	}
	p.taken[id] = true
	return nil
}

// read returns a page with those that it takes besides, and marks them as used.
func (p boltPages) read(id uint64) ([]byte, error) {
	if err := p.take(id); err != nil {
		return nil, err
	}
	page := p.raw[id*p.size:]
	more := uint64(binary.NativeEndian.Uint32(page[12:]))
	if named := binary.NativeEndian.Uint64(page); named != id {
		return nil, fmt.Errorf("page %d has the number %d", id, named)
	}
	for i := range more {
		if err := p.take(id + 1 + i); err != nil {
			return nil, err
		}
	}
	return page[:(1+more)*p.size], nil
}

// walk checks the page of a branch or leaf, and those below it.
func (p boltPages) walk(id uint64) error {
	page, err := p.read(id)
	if err != nil {
		return err
	}
	if err := p.checkElements(page, true); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// checkElements checks the elements of a branch or leaf, of which a small bucket is one within a
// value of another.
func (p boltPages) checkElements(page []byte, mayBranch bool) error {
	if len(page) < boltHeaderSize {
		return errors.New("it is cut off")
	}
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	isBranch := kind == boltBranch && mayBranch && count > 0
	if kind != boltLeaf && !isBranch {
		return fmt.Errorf("it has the kind %#x and %d elements", kind, count)
	}
	if len(page) < boltHeaderSize*(1+count) {
		return fmt.Errorf("it has no room for %d elements", count)
	}
	var before []byte
	for i := range count {
		element := page[boltHeaderSize*(1+i):]
		number := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(element[at:])) }
		var flags, at, keySize, valueSize uint64
		if isBranch {
			at, keySize = number(0), number(4)
		} else {
			flags, at, keySize, valueSize = number(0), number(4), number(8), number(12)
		}
		if uint64(len(element)) < at+keySize+valueSize {
			return fmt.Errorf("element %d ends behind it", i)
		}
		key, value := element[at:at+keySize], element[at+keySize:at+keySize+valueSize]
		if bytes.Compare(before, key) >= 0 {
			return fmt.Errorf("element %d is not in order", i)
		}
		before = key
		var err error
		switch {
		case isBranch:
			err = p.walk(binary.NativeEndian.Uint64(element[8:]))
		case flags == boltBucket:
			err = p.checkBucket(value)
		case flags != 0:
			err = fmt.Errorf("element %d has the kind %#x", i, flags)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBucket checks the pages of a bucket, which its value leads to or has within it.
func (p boltPages) checkBucket(value []byte) error {
	if len(value) < boltHeaderSize {
		return errors.New("a bucket is cut off")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return p.walk(root)
	}
	return p.checkElements(value[boltHeaderSize:], false)
}

// checkFree checks the list of free pages.
func (p boltPages) checkFree(id uint64) error {
	page, err := p.read(id)
	if err != nil {
		return err
	}
	list := page[boltHeaderSize:]
	count := uint64(binary.NativeEndian.Uint16(page[10:]))
	if count == math.MaxUint16 { // so many that the first element has their number
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if kind := binary.NativeEndian.Uint16(page[8:]); kind != boltFree || uint64(len(list))/8 < count {
		return fmt.Errorf("page %d is no list of free pages", id)
	}
	for i := range count {
		if err := p.take(binary.NativeEndian.Uint64(list[8*i:])); err != nil {
			return fmt.Errorf("list of free pages: %w", err)
		}
	}
	return nil
}
