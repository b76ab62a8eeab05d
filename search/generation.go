package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"minutebook/archive"
)

// generation is one build of the two indexes, in a folder of its own whose
// name has the format and a number: v1-000007. A new one is built beside the
// one that serves, and takes its place when it is whole.
type generation struct {
	name
	dir      string
	meetings *store
	moments  *store
	inUse    sync.RWMutex // held for reading while a search uses the stores; for writing to close them
	closed   bool         // guarded by inUse
}

const (
	meetingsFolder = "meetings"
	momentsFolder  = "moments"
)

// Documents of a batch or so: segments are merged by their sizes from there on.
const (
	meetingsFloor = 128
	momentsFloor  = 64 * meetingsFloor
)

// name is what a generation's folder is called by.
type name struct{ format, number int }

func (n name) String() string { return fmt.Sprintf("v%d-%06d", n.format, n.number) }

// readName reads a folder's name; ok is false for any other.
func readName(folder string) (n name, ok bool) {
	v, number, found := strings.Cut(strings.TrimPrefix(folder, "v"), "-")
	if !found || !strings.HasPrefix(folder, "v") {
		return n, false
	}
	var err, err1 error
	n.format, err = strconv.Atoi(v)
	n.number, err1 = strconv.Atoi(number)
	return n, err == nil && err1 == nil && n.String() == folder
}

// generationNames lists the generations in a folder, newest first.
func generationNames(dir string) ([]name, error) {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read index folder: %w", err)
	}
	var names []name
	for _, f := range folders {
		if n, ok := readName(f.Name()); ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Or(b.number-a.number, b.format-a.format) })
	return names, nil
}

// createGeneration makes an empty pair of indexes. What an attempt that failed
// left in its folder goes first.
func createGeneration(dir string, number int, at archive.Position) (*generation, error) {
	g := &generation{name: name{format, number}}
	g.dir = filepath.Join(dir, g.name.String())
	err := os.RemoveAll(g.dir)
	if err == nil {
		err = os.MkdirAll(g.dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("create search index: %w", err)
	}
	if g.meetings, err = createStore(filepath.Join(g.dir, meetingsFolder), meetingsFloor, at); err != nil {
		return nil, err
	}
	if g.moments, err = createStore(filepath.Join(g.dir, momentsFolder), momentsFloor, at); err != nil {
		return nil, errors.Join(err, g.meetings.close())
	}
	return g, nil
}

// openGeneration opens a pair of indexes.
func openGeneration(dir string, n name) (*generation, error) {
	g := &generation{name: n, dir: filepath.Join(dir, n.String())}
	if n.format < oldestServed || n.format > format {
		return nil, fmt.Errorf("open search index: it has format %d, and this program reads %d to %d", n.format, oldestServed, format)
	}
	var err error
	if g.meetings, err = openStore(filepath.Join(g.dir, meetingsFolder), n.format, meetingsFloor); err != nil {
		return nil, err
	}
	if g.moments, err = openStore(filepath.Join(g.dir, momentsFolder), n.format, momentsFloor); err != nil {
		return nil, errors.Join(err, g.meetings.close())
	}
	return g, nil
}

// built says whether both indexes hold the whole archive up to their
// positions.
func (g *generation) built() bool { return g.meetings.at().Built && g.moments.at().Built }

// position is what both indexes have reached.
func (g *generation) position() archive.Position {
	a, b := g.meetings.at().Position, g.moments.at().Position
	if b.Seq < a.Seq {
		return b
	}
	return a
}

// current says whether the indexes are of this program's format, so that they
// can be written to. Those of an older one answer until their successor is
// whole, and know nothing of what came after them.
func (g *generation) current() bool { return g.format == format }

// use keeps the generation open until done is called; ok is false when it is
// closed already.
func (g *generation) use() (done func(), ok bool) {
	g.inUse.RLock()
	if g.closed {
		g.inUse.RUnlock()
		return nil, false
	}
	return g.inUse.RUnlock, true
}

// flush returns when everything that was written is on disk.
func (g *generation) flush(ctx context.Context) error {
	return errors.Join(g.moments.flush(ctx), g.meetings.flush(ctx))
}

// close waits for the searches that use the indexes, brings what was written
// to disk, and closes them.
func (g *generation) close() error { return g.end((*store).close) }

// end waits for the searches that use the indexes and closes each, once.
func (g *generation) end(closeStore func(*store) error) error {
	g.inUse.Lock()
	defer g.inUse.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return errors.Join(closeStore(g.meetings), closeStore(g.moments))
}

// remove closes the indexes and deletes their files.
func (g *generation) remove() error {
	err := g.end((*store).abandon)
	if rerr := os.RemoveAll(g.dir); rerr != nil {
		return fmt.Errorf("remove search index: %w", rerr)
	}
	return err
}
