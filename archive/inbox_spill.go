package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"minutebook/internal/durable"
)

// SQLite writes a body twice: into its log, and from there into its file. While
// deliveries come faster than that goes, their bodies are spilled: appended to a
// file beside the inbox, once, and the row says where. Both are on disk before
// anybody is answered. When it is quiet again bodies are brought into SQLite and
// the files removed, so that usually there are none.

const (
	maxSpillFile = 256 << 20
	leastSpilled = 8 << 10 // bytes; a smaller body is no work for SQLite
)

// spillRef is where a spilled body is; the zero value says that it is not.
type spillRef struct {
	file, at, size int64
}

// A spill is the folder of spilled bodies. The writer goroutine appends, the
// syncing one syncs.
type spill struct {
	dir string

	mu      sync.Mutex
	file    *os.File // nil: the next body begins a new one
	number  int64    // of file, and the highest there ever was
	end     int64
	dirty   []*os.File // written to since they were last synced
	closing []*os.File // to be closed after the next sync
	held    int        // how many want bodies in SQLite alone
}

// openSpill looks which files there are; their folder is made with the first.
// used is the highest number that a row names. The files are synced: a process
// that was killed may have left them unsynced, and a repeat of what is in them
// must not be acknowledged before.
func openSpill(dir string, used int64) (*spill, error) {
	s := &spill{dir: dir, number: used}
	numbers, err := s.numbers()
	if err != nil || len(numbers) == 0 {
		return s, err
	}
	s.number = max(used, slices.Max(numbers))
	for _, n := range numbers {
		f, err := os.OpenFile(s.path(n), os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("sync spilled bodies: %w", err)
		}
		if err := errors.Join(durable.SyncData(f), f.Close()); err != nil {
			return nil, fmt.Errorf("sync spilled bodies: %w", err)
		}
	}
	return s, errors.Join(durable.SyncDir(s.dir), durable.SyncDir(filepath.Dir(s.dir)))
}

func (s *spill) path(number int64) string { return filepath.Join(s.dir, strconv.FormatInt(number, 10)) }

// numbers are those of the files that are there.
func (s *spill) numbers() (numbers []int64, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list spilled bodies: %w", err)
	}
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// takes says whether a body of size bytes is to be spilled now.
func (s *spill) takes(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return size >= leastSpilled && s.held == 0
}

// hold has bodies go into SQLite until as many calls of release.
func (s *spill) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
}

func (s *spill) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
}

// next is where a body of size bytes would go.
func (s *spill) next(size int64) (spillRef, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end > 0 && s.end+size > maxSpillFile {
		s.endFile()
	}
	if s.file == nil {
		if err := s.begin(); err != nil {
			return spillRef{}, fmt.Errorf("begin a file of spilled bodies: %w", err)
		}
	}
	return spillRef{s.number, s.end, size}, nil
}

func (s *spill) begin() error {
	if err := durable.MkdirAll(s.dir); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path(s.number+1), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.number++ // whatever happens to this one
	if err := errors.Join(durable.SyncDir(s.dir), durable.SyncDir(filepath.Dir(s.dir))); err != nil {
		return errors.Join(err, f.Close())
	}
	s.file, s.end = f, 0
	return nil
}

func (s *spill) endFile() {
	if s.file != nil {
		s.closing = append(s.closing, s.file)
		s.file, s.end = nil, 0
	}
}

// rotate has the next body begin a new file, and returns the number of the last
// one before it.
func (s *spill) rotate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endFile()
	return s.number
}

// put writes a body where next said. After an error its place is written over by
// the next one.
func (s *spill) put(at spillRef, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.WriteAt(body, at.at); err != nil {
		return fmt.Errorf("spill a body: %w", err)
	}
	s.end = at.at + at.size
	if !slices.Contains(s.dirty, s.file) {
		s.dirty = append(s.dirty, s.file)
	}
	return nil
}

// sync has all that was put on disk.
func (s *spill) sync() error {
	s.mu.Lock()
	dirty, closing := s.dirty, s.closing
	s.dirty, s.closing = nil, nil
	s.mu.Unlock()
	var err error
	for _, f := range dirty {
		if e := durable.SyncData(f); e != nil {
			err = errors.Join(err, e)
			continue
		}
		durable.Uncache(f) // gigabytes of bodies would push everything else out of memory
	}
	for _, f := range closing {
		err = errors.Join(err, f.Close())
	}
	return err
}

// lost says that an error of read means that the body is not there, and not
// only that it cannot be read now.
func lost(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF)
}

// read returns a spilled body as it was put.
func (s *spill) read(at spillRef) ([]byte, error) {
	f, err := os.Open(s.path(at.file))
	if err != nil {
		return nil, fmt.Errorf("read a spilled body: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (at.at < 0 || at.size < 0 || at.at+at.size > info.Size()) {
		err = fmt.Errorf("%s is cut short: %w", f.Name(), io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("read a spilled body: %w", err)
	}
	body := make([]byte, at.size)
	if _, err := f.ReadAt(body, at.at); err != nil {
		return nil, fmt.Errorf("read a spilled body: %w", err)
	}
	return body, nil
}

// remove deletes the files up to a number.
func (s *spill) remove(upTo int64) error {
	numbers, err := s.numbers()
	if err != nil {
		return err
	}
	left := 0
	for _, n := range numbers {
		if n > upTo {
			left++
			continue
		}
		err = errors.Join(err, durable.Remove(s.path(n)))
	}
	if left > 0 || err != nil {
		return err
	}
	return durable.Remove(filepath.Join(s.dir, unsyncedName))
}

// unsyncedName is a file in the folder that says that a sync has failed.
const unsyncedName = "unsynced"

// markUnsynced leaves word of a failed sync, as well as the disk lets it.
func (s *spill) markUnsynced() {
	if numbers, err := s.numbers(); err == nil && len(numbers) > 0 {
		_ = durable.WriteFile(filepath.Join(s.dir, unsyncedName), nil) // where this fails too, nothing can be said
	}
}

func (s *spill) unsynced() bool {
	_, err := os.Stat(filepath.Join(s.dir, unsyncedName))
	return err == nil
}

// close ends all files.
func (s *spill) close() error {
	s.rotate()
	return s.sync()
}
