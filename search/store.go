package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/archive"
	"minutebook/search/segment"
)

// format is the version of the indexes' contents. A change of the contents, or of
// how words are cut, raises it: indexes of another format are
// built anew, and those not older than oldestServed answer until that is done.
// Format 1 had hashes of neighbouring words, not the words, and all words of
// names in moments; format 2 did not say whose CRM matches are; format 3 kept control
// characters in names, with which no query finds them; format 4 cut decomposed Korean and
// Japanese into parts of characters, and had no pairs of one such character and another script;
// format 5 cut words at rarer apostrophes and at signs that nobody sees, and kept them in names.
const (
	format       = 6
	oldestServed = 1
)

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
	slots chan struct{} // one for each batch that is not on disk yet

	mu    sync.Mutex // guards state
	state state      // of the last batch that was written
}

// maxUnsaved bounds the batches that are found but not on disk yet. A crash loses them
// and, with them, the state that goes with each, so that they are written again after
// it.
const maxUnsaved = 4

// saveTimeout is how long a batch may take to come to disk: longer, and something is
// wrong with the disk.
const saveTimeout = time.Minute

// closeTimeout is how long a close waits for the last batches to be on disk.
const closeTimeout = 10 * time.Second

func newStore(path string, index bleve.Index) *store {
	return &store{path: path, index: index, slots: make(chan struct{}, maxUnsaved)}
}

// bleveSettings are the settings of a Bleve index. Documents are on disk some time
// after a batch was written, in one file for the batches of that time. Segments are
// merged by ten: the smallest count as having floor documents.
func bleveSettings(floor int) map[string]any {
	return map[string]any{
		"bolt_timeout":           openTimeout,
		"unsafe_batch":           true,
		"asyncErrorCallbackName": segment.PauseName,
		"forceSegmentType":       segment.TypeName, "forceSegmentVersion": int(segment.Version),
		"scorchMergePlanOptions": map[string]any{
			"MaxSegmentsPerTier": 10, "SegmentsPerMergeTask": 10, "TierGrowth": 10.0, "FloorSegmentSize": floor,
			"MaxSegmentSize": 5_000_000, "MaxSegmentFileSize": int64(1) << 40, "ReclaimDeletesWeight": 2.0,
		},
	}
}

// lastState returns the state of the last batch that was written.
func (s *store) lastState() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *store) setState(st state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = st
}

// createStore makes an empty index whose contents begin at a position.
func createStore(path string, floor int, at archive.Position) (s *store, err error) {
	defer segment.RecoverDamage("create", path, &err)
	idx, err := bleve.NewUsing(path, bleve.NewIndexMapping(), scorch.Name, bleve.Config.DefaultKVStore, bleveSettings(floor))
	if err != nil {
		return nil, fmt.Errorf("create search index %s: %w", filepath.Base(path), err)
	}
	s = newStore(path, idx)
	if err = makePrivate(path); err == nil {
		err = s.write(context.Background(), idx.NewBatch(), state{Format: format, Position: at})
	}
	if err == nil {
		err = s.flush(context.Background())
	}
	if err != nil {
		idx.Close()
		return nil, err
	}
	return s, nil
}

// makePrivate takes the rights of others away, which Bleve gives them.
func makePrivate(path string) error {
	if err := os.Chmod(filepath.Join(path, "index_meta.json"), 0o600); err != nil {
		return fmt.Errorf("keep search index %s private: %w", filepath.Base(path), err)
	}
	return nil
}

// openStore opens an index. Any error but errLocked means that it is of no
// use.
func openStore(path string, format, floor int) (s *store, err error) {
	defer segment.RecoverDamage("open", path, &err)
	if err := checkRootFile(path); err != nil {
		return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), err)
	}
	idx, err := bleve.OpenUsing(path, bleveSettings(floor))
	if err != nil {
		if strings.Contains(err.Error(), "timeout") {
			return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), errLocked)
		}
		return nil, fmt.Errorf("open search index %s: %w", filepath.Base(path), err)
	}
	s = newStore(path, idx)
	raw, err := idx.GetInternal(stateKey)
	if err == nil {
		err = json.Unmarshal(raw, &s.state)
	}
	if err == nil {
		err = makePrivate(path)
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

// write adds a batch with the state that holds once it is in. It is found when
// write returns, and on disk, both or neither, some time after, see flush.
func (s *store) write(ctx context.Context, b *bleve.Batch, next state) (err error) {
	defer segment.RecoverDamage("write", s.path, &err)
	if err := acquire(ctx, s.slots, "the disk to take the search index"); err != nil {
		return err
	}
	b.SetPersistedCallback(func(error) { s.freeSlot() })
	if err := s.apply(b, next); err != nil {
		s.freeSlot()
		return err
	}
	return nil
}

// freeSlot makes room for another batch.
func (s *store) freeSlot() {
	select {
	case <-s.slots:
	default:
	}
}

// apply writes a batch with the state that holds once it is in. Bleve would try for ever to
// write into a folder that was removed.
func (s *store) apply(b *bleve.Batch, next state) error {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", segment.ErrDamaged, err)
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	b.SetInternal(stateKey, raw)
	if err := s.index.Batch(b); err != nil {
		return fmt.Errorf("write search index %s: %w", filepath.Base(s.path), err)
	}
	s.setState(next)
	return nil
}

// flush returns when everything that was written is on disk.
func (s *store) flush(ctx context.Context) (err error) {
	defer segment.RecoverDamage("write", s.path, &err)
	saved := make(chan struct{}, 1)
	b := s.index.NewBatch()
	b.SetPersistedCallback(func(error) { saved <- struct{}{} })
	if err := s.apply(b, s.lastState()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, saveTimeout)
	defer stop()
	select {
	case <-saved:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the disk to take the search index: %w", ctx.Err())
	}
}

// acquire takes a slot as soon as one is free.
func acquire(ctx context.Context, room chan<- struct{}, what string) error {
	ctx, stop := context.WithTimeout(ctx, saveTimeout)
	defer stop()
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", what, ctx.Err())
	}
}

// snapshot returns the index as it is now. The caller closes it.
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

// close flushes the index to disk, if the disk takes it, and closes it.
func (s *store) close() (err error) {
	defer segment.RecoverDamage("close", s.path, &err)
	if len(s.slots) > 0 {
		ctx, stop := context.WithTimeout(context.Background(), closeTimeout)
		defer stop()
		err = s.flush(ctx)
	}
	return errors.Join(err, s.index.Close())
}

// abandon closes an index whose files are to be deleted.
func (s *store) abandon() (err error) {
	defer segment.RecoverDamage("close", s.path, &err)
	return s.index.Close()
}
