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

// maxMetadata is the longest metadata file, in bytes.
const maxMetadata = 1 << 20

// readWhole reads a file of at most so many bytes. It fails with a [Wrong].
func readWhole(path string, most int64) ([]byte, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	buffer := bytes.NewBuffer(make([]byte, 0, min(size, most)+bytes.MinRead)) // does not grow
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

var (
	// errNoFile refuses a folder, a pipe or a device in the place of a file.
	errNoFile = errors.New("it is no file")
	// errLink refuses a symbolic link, which could lead out of the folder, or in circles.
	errLink = errors.New("it is a link, and links are not followed")
)

// refuseKind says why an entry of a folder that is neither a file nor a folder is passed
// over. It is silent about those that nobody expects to be read.
func refuseKind(path string, kind fs.FileMode) error {
	err := errNoFile
	if kind&fs.ModeSymlink != 0 {
		err = errLink
		if target, failed := os.Stat(path); failed != nil || target.IsDir() {
			return err // there may be meetings behind it
		}
	}
	if isTranscriptName(path) || isRecordingName(path) || extension(path) == ".toml" {
		return err
	}
	return nil
}

// openFile opens a file and returns its size. A pipe in its place, whose opening would
// wait for a writer, and a symbolic link, which could lead out of the folder, are refused.
func openFile(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) {
		err = errLink
	}
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
	if errors.Is(err, fs.ErrNotExist) {
		return Wrong{File: path, Err: errors.New("it is not there")}
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err // without the path, which stands before it
	}
	return Wrong{File: path, Err: fmt.Errorf("it cannot be read: %w", err)}
}

// mayPass reports whether the system failed to read a file: the same may succeed later,
// though the file does not change.
func mayPass(err error) bool {
	_, failed := errors.AsType[unix.Errno](err)
	return failed
}

// stamp tells the states of a file apart. The right to read it, and another file with the
// same date, change the stamp.
type stamp struct {
	size, modified, changed int64
	device, inode           uint64
}

func stampFile(path string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stamp{}, err
	}
	return stamp{st.Size, st.Mtim.Nano(), st.Ctim.Nano(), uint64(st.Dev), st.Ino}, nil
}

// isGone reports whether an error says that a file is not there any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
