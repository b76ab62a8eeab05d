package control_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/web/access"
)

// indexed is an archive of five meetings and its index, caught up.
func indexed(t *testing.T) (*archive.Archive, *search.Index, *control.Registry) {
	t.Helper()
	a := openDir(t)
	for id := int64(1); id <= 5; id++ {
		put(t, a, id)
	}
	x, ops := withIndex(t, a)
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, x, ops
}

// withIndex opens an archive's index as it is.
func withIndex(t *testing.T, a *archive.Archive) (*search.Index, *control.Registry) {
	t.Helper()
	return withIndexIn(t, a, nil)
}

// withIndexIn is withIndex for queries with dates in a zone.
func withIndexIn(t *testing.T, a *archive.Archive, zone *time.Location) (*search.Index, *control.Registry) {
	t.Helper()
	x, err := search.Open(t.Context(), search.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	people, err := access.Open(t.Context(), access.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return x, control.Operations(control.Deps{Archive: a, Running: true, Location: zone, Logger: zerolog.Nop(),
		Access: func(context.Context) (*access.DB, error) { return people, nil },
		Index:  func(context.Context) (*search.Index, error) { return x, nil }})
}

func put(t *testing.T, a *archive.Archive, id int64) {
	t.Helper()
	o, err := archive.FromMeeting("main", archive.SourceList, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), fmt.Appendf(nil,
		`{"recording_id":%d,"title":"M","recording_start_time":"2026-03-01T10:00:00Z","transcript":[{"speaker":{"display_name":"A"},"text":"word%d said","timestamp":"00:00:01"}]}`, id, id))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
}

// behindTheBack changes archive.db as nothing of the program does.
func behindTheBack(t *testing.T, a *archive.Archive, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(a.Dir(), "archive.db")+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func verified(t *testing.T, dir string, ops *control.Registry, repair bool) (archive.Verified, []archive.Damage) {
	t.Helper()
	var damages []archive.Damage
	v, err := control.Call[archive.Verified](t.Context(), ops, "verify", control.VerifyRequest{Repair: repair}, func(raw json.RawMessage) error {
		var e control.Maintenance
		err := json.Unmarshal(raw, &e)
		if e.Damage != nil && (e.Damage.Class != archive.DamageMode || e.Damage.Path != dir) { // a test's own directory is 0755
			damages = append(damages, *e.Damage)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v, damages
}

// TestVerifyNamesDamageOfTheIndex makes each class of damage that an index can
// have, sees it named, repairs it and finds nothing any more.
func TestVerifyNamesDamageOfTheIndex(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string]struct {
		damage func(t *testing.T, a *archive.Archive, x *search.Index)
		class  archive.DamageClass
		id     int64
	}{
		"behind": {func(t *testing.T, a *archive.Archive, _ *search.Index) {
			put(t, a, 6)
			behindTheBack(t, a, `DELETE FROM changes WHERE recording_id = 6`)
		}, archive.DamageIndex, 6},
		"a document without meeting": {func(t *testing.T, a *archive.Archive, _ *search.Index) {
			behindTheBack(t, a, `DELETE FROM parts WHERE recording_id = 3`, `DELETE FROM revisions WHERE recording_id = 3`, `DELETE FROM sightings WHERE recording_id = 3`,
				`DELETE FROM meeting_speakers WHERE recording_id = 3`, `DELETE FROM entries WHERE id >> 20 = 3`, `DELETE FROM meetings WHERE recording_id = 3`,
				`DELETE FROM bodies WHERE revision_id NOT IN (SELECT id FROM revisions)`, `DELETE FROM observations WHERE revision_id NOT IN (SELECT id FROM revisions)`)
		}, archive.DamageIndexExtra, 3},
		"a byte flipped": {func(t *testing.T, a *archive.Archive, _ *search.Index) {
			flipSegment(t, filepath.Join(a.Dir(), "index"))
		}, archive.DamageIndex, 0},
		"cursor beyond the log": {func(t *testing.T, a *archive.Archive, x *search.Index) {
			put(t, a, 6)
			if err := x.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			rewind(t, a)
		}, archive.DamageCursor, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, x, ops := indexed(t)
			if v, damages := verified(t, a.Dir(), ops, false); len(damages) > 0 || v.ExitCode() != 0 {
				t.Fatalf("a sound index: %v", damages)
			}
			c.damage(t, a, x)
			if c.class == archive.DamageCursor {
				ops = reopened(t, a, x)
			}
			v, damages := verified(t, a.Dir(), ops, false)
			named := func(d archive.Damage) bool {
				return d.Class == c.class && (c.id == 0 || d.RecordingID == c.id) && filepath.IsAbs(d.Path) && !d.Repaired
			}
			if !slices.ContainsFunc(damages, named) || v.ExitCode() != c.class.ExitCode() {
				t.Fatalf("exit code %d, found %v; want class %s", v.ExitCode(), damages, c.class)
			}
			verified(t, a.Dir(), ops, true)
			if _, damages := verified(t, a.Dir(), ops, false); len(damages) > 0 {
				t.Errorf("after the repair: %v", damages)
			}
		})
	}
}

// flipSegment changes one byte in the middle of the first segment.
func flipSegment(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".zap" {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, info.Size()/2); err != nil {
			return err
		}
		if _, err := f.WriteAt([]byte{b[0] ^ 1}, info.Size()/2); err != nil {
			return err
		}
		return filepath.SkipAll
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rewind takes the last meeting out of the log, as an old copy of archive.db
// would.
func rewind(t *testing.T, a *archive.Archive) {
	t.Helper()
	behindTheBack(t, a, `DELETE FROM changes WHERE recording_id = 6`, `UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM changes) WHERE name = 'changes'`)
}

// reopened is the archive opened anew, with the index as it is.
func reopened(t *testing.T, a *archive.Archive, x *search.Index) *control.Registry {
	t.Helper()
	dir := a.Dir()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	_, ops := withIndex(t, a)
	return ops
}
