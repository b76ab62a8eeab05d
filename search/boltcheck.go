package search

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"minutebook/search/segment"
)

// The file that lists an index's segments is a bbolt database. It is read
// through a mapping, also by goroutines of Bleve's, where reading past its end
// is the end of the program: so a file that is cut off must not be opened.
// Its first two pages say, in turns, how many pages there are.
const (
	boltMagic    = 0xED0CDAED
	boltMetaAt   = 16 // of the page
	boltMetaSize = 64
)

// checkRootFile fails for an index whose list of segments is cut off. Bleve finds
// other damage.
func checkRootFile(index string) error {
	path := filepath.Join(index, "store", "root.bolt")
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if pages := boltFileSize(f); uint64(st.Size()) < pages {
		return fmt.Errorf("%w: %s has %d bytes of %d", segment.ErrDamaged, filepath.Base(path), st.Size(), pages)
	}
	return nil
}

// boltFileSize returns how many bytes the pages of a bbolt file take, by the newer of
// its two descriptions; 0 when neither can be read.
func boltFileSize(f *os.File) (size uint64) {
	newest := uint64(0)
	pageSize := int64(os.Getpagesize())
	for page := range int64(2) {
		meta := make([]byte, boltMetaSize)
		if _, err := f.ReadAt(meta, page*pageSize+boltMetaAt); err != nil {
			continue
		}
		number := func(at int) uint64 { return binary.NativeEndian.Uint64(meta[at:]) }
		if binary.NativeEndian.Uint32(meta) != boltMagic {
			continue
		}
		if pages, transaction := number(40), number(48); size == 0 || transaction > newest {
			newest, size = transaction, pages*uint64(binary.NativeEndian.Uint32(meta[8:]))
		}
	}
	return size
}
