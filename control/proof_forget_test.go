package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	zap "github.com/blevesearch/zapx/v17"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
	"minutebook/internal/durable"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/service"
	"minutebook/web/access"
)

// TestForgetEndsAProof forgets a meeting while the databases of a backup that has it lie
// restored in the scratch directory: they are gone when forget returns, and the proof counts
// for nothing. The clock, which the proof reads, says when that is.
func TestForgetEndsAProof(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := archivetest.Dir(t)
	scratch := filepath.Join(dir, archive.ProofDir)
	forgetting, forgotten := make(chan struct{}), make(chan error, 1)
	var a *archive.Archive
	var found atomic.Bool
	a = archivetest.OpenAt(t, dir, func() time.Time {
		if archivetest.Exists(filepath.Join(scratch, "archive.db")) && found.CompareAndSwap(false, true) {
			go func() {
				_, err := a.Forget(context.Background(), 1, "asked for")
				if err == nil && archivetest.Exists(scratch) {
					err = errors.New("the databases of the proof are still there")
				}
				forgotten <- err
			}()
			<-forgetting
		}
		return archivetest.Epoch
	})
	put(t, a, 1)
	to := t.TempDir()
	if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	a.OnForget("the first", func(context.Context, int64) error {
		select {
		case <-forgetting:
		default:
			close(forgetting)
		}
		return nil
	})
	h := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Proof: control.Proof{From: to}, Activities: &control.Activities{}}
	_, err := control.Call[backup.Proof](t.Context(), control.Operations(h), "prove", struct{}{}, nil)
	if err := <-forgotten; err != nil {
		t.Error(err)
	}
	u, failed := h.UpkeepState(t.Context(), control.UpkeepProve)
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Kind != control.KindEnded || failed != nil || !u.Began.IsZero() {
		t.Errorf("the proof: %v, %+v, %v", err, u, failed)
	}
}

// TestForgetEndsARepair forgets a meeting while the database of a backup that has it lies
// unpacked for a repair, and while the index is checked after that: it is gone when forget
// returns, and only the repair is ended.
func TestForgetEndsARepair(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, ends := range map[string]bool{"while it repairs": true, "while the index is checked": false} {
		t.Run(name, func(t *testing.T) {
			a, to := openDir(t), t.TempDir()
			put(t, a, 1)
			put(t, a, 2)
			if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
				t.Fatal(err)
			}
			behindTheBack(t, a, `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id IN (SELECT revision_id FROM parts WHERE part = 'transcript')`)
			unpacked := func() bool {
				left, _ := filepath.Glob(filepath.Join(a.Dir(), durable.TempPrefix+"repair-*"))
				return left != nil
			}
			forgotten := make(chan error, 1)
			forget := sync.OnceFunc(func() {
				returned := make(chan struct{})
				go func() {
					defer close(returned)
					_, err := a.Forget(context.Background(), 1, "asked for")
					if err == nil && unpacked() {
						err = errors.New("the database of the backup is still there")
					}
					forgotten <- err
				}()
				select {
				case <-returned: // too early while it repairs
				case <-time.After(200 * time.Millisecond):
				}
			})
			h := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Activities: &control.Activities{},
				Access: func(ctx context.Context) (*access.DB, error) {
					return access.Open(ctx, access.Options{Archive: a, Logger: zerolog.Nop()})
				},
				Index: func(context.Context) (*search.Index, error) {
					forget()
					return nil, errors.New("none")
				}}
			_, err := control.Call[archive.Verified](t.Context(), control.Operations(h), "verify", control.VerifyRequest{Repair: true, From: to}, func(json.RawMessage) error {
				if ends && unpacked() {
					forget()
				}
				return nil
			})
			if err := <-forgotten; err != nil {
				t.Error(err)
			}
			u, failed := h.UpkeepState(t.Context(), control.UpkeepVerify)
			if e, ok := errors.AsType[*control.Error](err); ends != (ok && e.Kind == control.KindEnded) || ends != u.Began.IsZero() || failed != nil || u.Error != "" {
				t.Errorf("the repair: %v, %+v, %v", err, u, failed)
			}
		})
	}
}

// TestARepairErasesAForgottenMeetingFromTheIndex repairs, without a daemon, after a forgetting
// that was killed: it is not finished while the index has the words.
func TestARepairErasesAForgottenMeetingFromTheIndex(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, x, _ := indexed(t)
	dir := a.Dir()
	a.OnForget("the search index", func(context.Context, int64) error { return errors.New("killed") })
	if _, err := a.Forget(t.Context(), 5, "asked for"); err == nil {
		t.Fatal("forgotten")
	}
	if err := errors.Join(x.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	a = archivetest.Open(t, dir)
	broken := errors.New("in use")
	people, err := access.Open(t.Context(), access.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	h := control.Deps{Archive: a, Logger: zerolog.Nop(), Activities: &control.Activities{},
		Access: func(context.Context) (*access.DB, error) { return people, nil },
		Index: func(ctx context.Context) (_ *search.Index, err error) {
			if broken != nil {
				return nil, broken
			}
			if x == nil {
				x, err = search.Open(ctx, search.Options{Archive: a, Logger: zerolog.Nop()})
				t.Cleanup(func() { x.Close() })
			}
			return x, err
		}}
	x = nil
	for _, want := range []int{1, 0} {
		v, err := control.Call[archive.Verified](t.Context(), control.Operations(h), "verify", control.VerifyRequest{Repair: true}, nil)
		if unfinished, _, failed := a.Forgetting(t.Context()); err != nil || failed != nil || unfinished != want || v.Damages[archive.DamageForgetting] != want {
			t.Errorf("%+v, %v; unfinished are %d, %v; want %d", v, err, unfinished, failed, want)
		}
		broken = nil
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if found := segmentsWith(t, filepath.Join(dir, "index"), "word5"); found != nil {
		t.Errorf("the word is in %v", found)
	}
	if found := segmentsWith(t, filepath.Join(dir, "index"), "word4"); found == nil {
		t.Error("no word is found: this test would find nothing")
	}
}

// segmentsWith returns the segments below a folder that have a term.
func segmentsWith(t *testing.T, dir, term string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".zap" {
			return err
		}
		seg, err := (&zap.ZapPlugin{}).Open(path)
		if err != nil {
			return err
		}
		defer seg.Close()
		for _, field := range seg.Fields() {
			dict, err := seg.Dictionary(field)
			if err != nil {
				return err
			}
			if has, err := dict.Contains([]byte(term)); err != nil || has {
				found = append(found, path)
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestARepairFinishesForgetting repairs from a backup while an erasure is unfinished: it
// finishes it, in the service's queue too, and is not ended by it.
func TestARepairFinishesForgetting(t *testing.T) {
	a, to := openDir(t), t.TempDir()
	put(t, a, 1)
	if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	behindTheBack(t, a, `INSERT INTO tombstones VALUES (99, 0, 0, '[]', NULL)`)
	if err := os.WriteFile(filepath.Join(a.Dir(), "service.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := false
	h := control.Deps{Archive: a, Logger: zerolog.Nop(), Activities: &control.Activities{},
		Service: func(context.Context) (*service.Service, error) { opened = true; return nil, nil },
		Access: func(ctx context.Context) (*access.DB, error) {
			return access.Open(ctx, access.Options{Archive: a, Logger: zerolog.Nop()})
		},
		Index: func(context.Context) (*search.Index, error) { return nil, errors.New("none") }}
	v, err := control.Call[archive.Verified](t.Context(), control.Operations(h), "verify", control.VerifyRequest{Repair: true, From: to}, nil)
	if unfinished, _, failed := a.Forgetting(t.Context()); err != nil || v.Repaired != 1 || unfinished != 0 || !opened || failed != nil {
		t.Errorf("%+v, %v; unfinished are %d, %v; the queue was opened: %t", v, err, unfinished, failed, opened)
	}
}
