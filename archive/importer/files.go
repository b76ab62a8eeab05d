package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The longest files that are read as a whole, in bytes.
const (
	maxTranscript = 64 << 20
	maxMetadata   = 1 << 20
)

// readWhole reads a file of at most so many bytes. It fails with a [Wrong].
func readWhole(path string, most int64) ([]byte, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	content := make([]byte, 0, min(size, most)+1)
	buffer := bytes.NewBuffer(content)
	if size <= most {
		if _, err = io.Copy(buffer, io.LimitReader(f, most+1)); err != nil {
			return nil, unreadable(path, err)
		}
	}
	if size > most || int64(buffer.Len()) > most {
		return nil, Wrong{File: path, Err: fmt.Errorf("it is longer than %d MiB", most>>20)}
	}
	return buffer.Bytes(), nil
}

// errNoFile refuses a folder, a pipe or a device in the place of a file.
var errNoFile = errors.New("it is no file")

// openFile opens a file and returns its size. A pipe in its place, whose opening would
// wait for a writer, is refused.
func openFile(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// unreadable returns why a file cannot be read as an error of this file alone: the others
// are imported.
func unreadable(path string, err error) Wrong {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err // without the path, which stands before it
	}
	return Wrong{File: path, Err: fmt.Errorf("it cannot be read: %w", err)}
}

// isGone reports whether an error says that a file is not there any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
