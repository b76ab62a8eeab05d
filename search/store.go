package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/archive"
)

// format is the version of what the indexes contain. A change of what is
// indexed, or how words are cut, raises it: indexes of another format are
// built anew.
const format = 1

// openTimeout is how long an open waits for another opener of the same files.
const openTimeout = "2s"

// errLocked is the one failure to open that does not mean damage.
var errLocked = errors.New("the search index is open elsewhere")

// state is kept inside each index, written in the same batch as the documents
// it speaks of. Until Built, Next is where the walk over the archive goes on;
// after it, everything up to Position is in the index.
type state struct {
	Format   int
	Position archive.Position
	Built    bool
	Next     *archive.Key `json:",omitempty"`
	Walked   int          // meetings that the walk has passed
}

var stateKey = []byte("minutebook")

// store is one Bleve index on disk with its state.
type store struct {
	path  string
	index bleve.Index

	mu    sync.Mutex // guards state
	state state      // of the last batch that was written
}

// at returns the state of the last batch that was written.
func (s *store) at() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *store) set(st state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = st
}

// createStore makes an empty index whose contents begin at a position.
func createStore(path string, at archive.Position) (s *store, err error) {
	defer recovered("create", path, &err)
	idx, err := bleve.NewUsing(path, bleve.NewIndexMapping(), scorch.Name, bleve.Config.DefaultKVStore,
		map[string]any{"bolt_timeout": openTimeout})
	if err != nil {
		return nil, fmt.Errorf("create search index %s: %w", filepath.Base(path), err)
	}
	s = &store{path: path, index: idx}
	if err := private(path); err != nil {
		idx.Close()
		return nil, err
	}
	if err := s.write(idx.NewBatch(), state{Format: format, Position: at}); err != nil {
		idx.Close()
		return nil, err
	}
	return s, nil
}

// private takes from others what the index library gives them.
func private(path string) error {
	if err := os.Chmod(filepath.Join(path, "index_meta.json"), 0o600); err != nil {
		return fmt.Errorf("keep search index %s private: %w", filepath.Base(path), err)
	}
	return nil
}

// openStore opens an index. Any error but errLocked means that it is of no
// use.
func openStore(path string) (s *store, err error) {
	defer recovered("open", path, &err)
	idx, err := bleve.OpenUsing(path, map[string]any{"bolt_timeout": openTimeout})
	if err != nil {
		if strings.Contains(err.Error(), "timeout") {
			return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), errLocked)
		}
		return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), err)
	}
	s = &store{path: path, index: idx}
	raw, err := idx.GetInternal(stateKey)
	if err == nil {
		err = json.Unmarshal(raw, &s.state)
	}
	if err == nil {
		err = private(path)
	}
	if err == nil && s.state.Format != format {
		err = fmt.Errorf("it has format %d, not %d", s.state.Format, format)
	}
	if err != nil {
		idx.Close()
		return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), err)
	}
	return s, nil
}

// recovered turns a panic of the index library over damaged files into an
// error.
func recovered(what, path string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s search index %s: %w: %v", what, filepath.Base(path), ErrDamaged, p)
	}
}

// write commits a batch with the state that holds once it is in.
func (s *store) write(b *bleve.Batch, next state) (err error) {
	defer recovered("write", s.path, &err)
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	b.SetInternal(stateKey, raw)
	if err := s.index.Batch(b); err != nil {
		return fmt.Errorf("write search index %s: %w", filepath.Base(s.path), err)
	}
	s.set(next)
	return nil
}

// snapshot returns what the index holds now. The caller closes it.
func (s *store) snapshot() (*scorch.IndexSnapshot, error) {
	adv, err := s.index.Advanced()
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	r, err := adv.Reader()
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		r.Close()
		return nil, fmt.Errorf("read search index: it is a %T", r)
	}
	return snap, nil
}

func (s *store) close() (err error) {
	defer recovered("close", s.path, &err)
	return s.index.Close()
}
