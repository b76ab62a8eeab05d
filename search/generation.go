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
// name has the format and a number: v1-000007. A new one is built while the
// old one serves, and takes its place when it is whole.
type generation struct {
	generationName
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

// generationName is the name of a generation's folder.
type generationName struct{ format, number int }

func (n generationName) String() string { return fmt.Sprintf("v%d-%06d", n.format, n.number) }

// parseGenerationName reads a folder's name; ok is false for any other.
func parseGenerationName(folder string) (n generationName, ok bool) {
	v, number, found := strings.Cut(strings.TrimPrefix(folder, "v"), "-")
	if !found || !strings.HasPrefix(folder, "v") {
		return n, false
	}
	var err, err1 error
	n.format, err = strconv.Atoi(v)
	n.number, err1 = strconv.Atoi(number)
	return n, err == nil && err1 == nil && n.String() == folder
}

// listGenerations lists the generations in a folder, newest first.
func listGenerations(dir string) ([]generationName, error) {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read index folder: %w", err)
	}
	var names []generationName
	for _, f := range folders {
		if n, ok := parseGenerationName(f.Name()); ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b generationName) int { return cmp.Or(b.number-a.number, b.format-a.format) })
	return names, nil
}

// createGeneration makes an empty pair of indexes. It removes the leavings of an
// attempt that failed.
func createGeneration(dir string, number int, at archive.Position) (*generation, error) {
	g := &generation{generationName: generationName{format, number}}
	g.dir = filepath.Join(dir, g.generationName.String())
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
func openGeneration(dir string, n generationName) (*generation, error) {
	g := &generation{generationName: n, dir: filepath.Join(dir, n.String())}
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

// isBuilt reports whether both indexes hold the whole archive up to their positions.
func (g *generation) isBuilt() bool {
	return g.meetings.lastState().Built && g.moments.lastState().Built
}

// position is the position that both indexes have reached.
func (g *generation) position() archive.Position {
	a, b := g.meetings.lastState().Position, g.moments.lastState().Position
	if b.Seq < a.Seq {
		return b
	}
	return a
}

// isAhead reports whether the indexes have followed the same change log further than others.
func (g *generation) isAhead(others *generation) bool {
	a, b := g.position(), others.position()
	return a.Epoch == b.Epoch && a.Seq > b.Seq
}

// isCurrent reports whether the indexes are of this program's format, so that they can
// be written to. Those of an older one answer until their successor is whole, and lack
// later fields.
func (g *generation) isCurrent() bool { return g.format == format }

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

// close waits for the searches that use the indexes, flushes them to disk, and closes
// them.
func (g *generation) close() error { return g.closeStores((*store).close) }

// closeStores waits for the searches that use the indexes and closes each, once: both at
// the same time, since each may wait for a disk that takes nothing.
func (g *generation) closeStores(closeStore func(*store) error) error {
	g.inUse.Lock()
	defer g.inUse.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	var closing sync.WaitGroup
	var meetings, moments error
	closing.Go(func() { meetings = closeStore(g.meetings) })
	closing.Go(func() { moments = closeStore(g.moments) })
	closing.Wait()
	return errors.Join(meetings, moments)
}

// remove closes the indexes and deletes their files.
func (g *generation) remove() error {
	err := g.closeStores((*store).abandon)
	if rerr := os.RemoveAll(g.dir); rerr != nil {
		return fmt.Errorf("remove search index: %w", rerr)
	}
	return err
}
