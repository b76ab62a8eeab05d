package segment

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// CheckFile compares a segment file's CRC-32 with its last four bytes. Bleve does so
// neither when it opens files nor when it reads them.
func CheckFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() < 4 {
		return fmt.Errorf("%s is cut off", filepath.Base(path))
	}
	sum := crc32.NewIEEE()
	for left := st.Size() - 4; left > 0; {
		n, err := io.CopyN(sum, f, min(left, 1<<20))
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		left -= n
	}
	var want [4]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return fmt.Errorf("the checksum of %s is wrong", filepath.Base(path))
	}
	return nil
}
