package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// The end of a segment's file: numbers of 4 and 8 bytes, counted from its last byte.
const (
	versionAt  = 8
	sectionsAt = 20
	storedAt   = 28
	docsAt     = 36
	footerSize = 40
)

// checkLayout refuses a file whose numbers of documents, fields or chunks are greater
// than its size allows. Bleve makes room for as many as a file says before it reads them,
// and a program that asks for more memory than there is ends at once.
func checkLayout(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	l := layout{file: f, size: uint64(info.Size())}
	if l.size < footerSize || binary.BigEndian.Uint32(l.read(l.size-versionAt, 4)) != Version {
		return nil // Bleve refuses it
	}
	l.check()
	if l.err != nil {
		return fmt.Errorf("open a segment of the search index %s: %w: %w", filepath.Base(path), ErrDamaged, l.err)
	}
	return nil
}

// layout reads numbers of a segment's file. After the first error all are 0.
type layout struct {
	file *os.File
	size uint64
	err  error
}

func (l *layout) check() {
	docs := l.number(l.size - docsAt)
	l.limit("documents", docs, l.size/8)
	edges, _ := l.uvarint(l.number(l.size-storedAt) + 8*docs)
	l.limit("nested documents", edges, docs)
	fields, at := l.uvarint(l.number(l.size - sectionsAt))
	l.limit("fields", fields, min(l.size/8, math.MaxUint16))
	for i := uint64(0); i < fields && l.err == nil; i++ {
		if field := l.number(at + 8*i); field > 0 {
			l.checkField(field)
		}
	}
}

// checkField checks the sections of a field: its name, its options, and of each section
// the type and the place.
func (l *layout) checkField(at uint64) {
	name, at := l.uvarint(at)
	_, at = l.uvarint(at + name)
	sections, at := l.uvarint(at)
	l.limit("sections", sections, 64)
	for i := uint64(0); i < sections && l.err == nil; i++ {
		section := l.number(at + 10*i + 2)
		if section == 0 {
			continue
		}
		start, next := l.uvarint(section)
		if end, _ := l.uvarint(next); start != noDocValues { // its values by document
			l.limit("chunks", l.number(end-8), l.size)
		}
	}
}

func (l *layout) limit(what string, number, most uint64) {
	if number > most && l.err == nil {
		l.err = fmt.Errorf("%d %s in %d bytes", number, what, l.size)
	}
}

// number reads a number of 8 bytes.
func (l *layout) number(at uint64) uint64 { return binary.BigEndian.Uint64(l.read(at, 8)) }

// uvarint reads a number of up to 10 bytes, and returns where it ends.
func (l *layout) uvarint(at uint64) (number, end uint64) {
	number, n := binary.Uvarint(l.read(at, binary.MaxVarintLen64))
	if n <= 0 {
		l.err = errors.Join(l.err, errors.New("a number is not one"))
		return 0, 0
	}
	return number, at + uint64(n)
}

// read returns bytes of the file, zeros beyond its end and after an error.
func (l *layout) read(at, n uint64) []byte {
	b := make([]byte, n)
	if at >= l.size {
		l.err = errors.Join(l.err, fmt.Errorf("byte %d of %d is missing", at, l.size))
	}
	if l.err == nil {
		_, _ = l.file.ReadAt(b, int64(at)) // short at the end
	}
	return b
}
