package search

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"minutebook/archive"
)

// generation is one build of the two indexes, in a folder of its own whose
// name has the format and a number: v1-000007. A new one is built beside the
// one that serves, and takes its place when it is whole.
type generation struct {
	dir      string
	number   int
	meetings *store
	moments  *store
	inUse    sync.RWMutex // held for reading while a search uses the stores; for writing to close them
	closed   bool         // guarded by inUse
}

const (
	meetingsFolder = "meetings"
	momentsFolder  = "moments"
)

func generationName(number int) string { return fmt.Sprintf("v%d-%06d", format, number) }

// readGenerationName returns the number of a generation of any format.
func readGenerationName(name string) (number int, ok bool) {
	v, n, found := strings.Cut(name, "-")
	if !found || !strings.HasPrefix(v, "v") {
		return 0, false
	}
	number, err := strconv.Atoi(n)
	return number, err == nil
}

// generationNumbers lists the generations in a folder, newest first.
func generationNumbers(dir string) ([]int, error) {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read index folder: %w", err)
	}
	var numbers []int
	for _, n := range names {
		if number, ok := readGenerationName(n.Name()); ok {
			numbers = append(numbers, number)
		}
	}
	sort.Sort(sort.Reverse(sort.IntSlice(numbers)))
	return numbers, nil
}

// createGeneration makes an empty pair of indexes.
func createGeneration(dir string, number int, at archive.Position) (*generation, error) {
	g := &generation{dir: filepath.Join(dir, generationName(number)), number: number}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create search index: %w", err)
	}
	var err error
	if g.meetings, err = createStore(filepath.Join(g.dir, meetingsFolder), at); err != nil {
		return nil, err
	}
	if g.moments, err = createStore(filepath.Join(g.dir, momentsFolder), at); err != nil {
		return nil, errors.Join(err, g.meetings.close())
	}
	return g, nil
}

// openGeneration opens a pair of indexes.
func openGeneration(dir string, number int) (*generation, error) {
	g := &generation{dir: filepath.Join(dir, generationName(number)), number: number}
	var err error
	if g.meetings, err = openStore(filepath.Join(g.dir, meetingsFolder)); err != nil {
		return nil, err
	}
	if g.moments, err = openStore(filepath.Join(g.dir, momentsFolder)); err != nil {
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

// close waits for the searches that use the indexes and closes them.
func (g *generation) close() error {
	g.inUse.Lock()
	defer g.inUse.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return errors.Join(g.meetings.close(), g.moments.close())
}

// remove closes the indexes and deletes their files.
func (g *generation) remove() error {
	err := g.close()
	if rerr := os.RemoveAll(g.dir); rerr != nil {
		return fmt.Errorf("remove search index: %w", rerr)
	}
	return err
}
