package years

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"minutebook/archive"
)

// isSick reports whether commits fail, or one did a moment ago.
func (h *house) isSick() bool {
	failed := h.failedAt.Load()
	return h.sick.Load() > 0 || h.locked.Load() || failed != 0 && time.Since(time.Unix(0, failed)) < time.Minute
}

// sickSince returns since when all commits of a database fail.
func (w *world) sickSince() (since time.Time, isSick bool) {
	h := w.house
	if h == nil || h.sick.Load() == 0 && !h.locked.Load() {
		return time.Time{}, false
	}
	return time.Unix(0, h.troubled.Load()), true
}

// failOnce lets one of the program's next commits fail, as a failing sync of the disk does.
func (w *world) failOnce(*rand.Rand) {
	if h := w.house; h != nil && !h.dead.Load() {
		w.journal.note("the next commit fails")
		h.failing.Store(true)
	}
}

// failsOnce reports whether this commit fails. Those of the person at the keyboard do not.
func (h *house) failsOnce() bool {
	if h.w.acting.Load() || !h.failing.Swap(false) {
		return false
	}
	h.w.journal.note("a commit fails")
	h.failedAt.Store(time.Now().UnixNano())
	h.w.oracle.settle(time.Now(), true)
	h.w.oracle.mayExpire()
	return true
}

// lockDatabase has another program hold the write lock of a database: for less time than the
// program waits for it, or for longer.
func (w *world) lockDatabase(g *rand.Rand) {
	h := w.house
	if h == nil || h.dead.Load() || h.isSick() {
		return
	}
	ctx := context.Background()
	databases := h.archive.Databases()
	db := databases[g.IntN(len(databases))]
	other, err := sql.Open("sqlite3", db.Path+"?_busy_timeout=1000")
	w.must(err, "open a database twice")
	conn, err := other.Conn(ctx)
	w.must(err, "open a database twice")
	_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout=1")
	w.must(err, "shorten the wait for a lock")
	for lock := "BEGIN IMMEDIATE"; ; time.Sleep(time.Second) { // a slow commit has the lock
		if _, err = conn.ExecContext(ctx, lock); err == nil || w.disk.present() == nil {
			break
		}
	}
	w.must(err, "lock a database")
	unlock := func() {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		if err := errors.Join(err, conn.Close(), other.Close()); err != nil {
			w.report("unlock a database: %v", err)
		}
	}
	if g.IntN(2) == 0 {
		w.journal.note("somebody locks %s for a moment", filepath.Base(db.Path))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 20e6}, nil) // virtual time stands still
			unlock()
		}()
		err := h.archive.SetMarks(ctx, archive.Mark{Key: "simulated", Value: fmt.Append(nil, w.keys)})
		<-done
		if !h.dead.Load() {
			w.must(err, "write while a database is locked for a moment")
		}
		return
	}
	d, began := time.Duration(10+g.IntN(3*3600))*time.Second, time.Now()
	w.journal.note("somebody locks %s for %s", filepath.Base(db.Path), d)
	w.oracle.settle(time.Now(), true)
	// The program would wait for ten seconds that are not virtual.
	_, err = db.W.ExecContext(ctx, "PRAGMA busy_timeout=1")
	w.must(err, "shorten the wait for a lock")
	w.oracle.mayExpire()
	h.troubled.Store(time.Now().UnixNano())
	h.locked.Store(true)
	h.wasSick.Store(true)
	h.locks = append(h.locks, unlock)
	w.later(d, "unlock", func() {
		if !h.locked.Load() {
			return
		}
		h.unlock()
		w.journal.note("the database is not locked any more")
		_, err := db.W.ExecContext(ctx, "PRAGMA busy_timeout=10000")
		w.must(err, "wait for locks again")
		w.oracle.settle(began, true)
	})
}

// unlock has the other program end.
func (h *house) unlock() {
	for _, unlock := range h.locks {
		unlock()
	}
	h.locks = nil
	h.locked.Store(false)
}

// shareKey has another program use an account's key for some hours: every few minutes it
// uses up a part of the limits, or all of it.
func (w *world) shareKey(g *rand.Rand) {
	a := w.config.accounts[g.IntN(len(w.config.accounts))]
	if a.oauth || !w.works(a) {
		return
	}
	until := time.Now().Add(time.Duration(1+g.IntN(12)) * time.Hour)
	w.journal.note("another program uses the key of %s until %s", a.name, stamp(until))
	w.mu.Lock()
	w.shared = until
	w.mu.Unlock()
	var burst func()
	burst = func() {
		w.mu.Lock()
		ended := !time.Now().Before(w.shared)
		w.mu.Unlock()
		if ended {
			return
		}
		path := []string{"/meeting_types", "/meetings?include_summary=true", "/teams"}[g.IntN(3)]
		for range 5 + g.IntN(60) {
			r := httptest.NewRequest(http.MethodGet, baseURL+path, nil)
			r.Header.Set("X-Api-Key", a.key)
			answer := httptest.NewRecorder()
			w.upstream.service.Handler().ServeHTTP(answer, r)
			if answer.Code == http.StatusTooManyRequests {
				break
			}
		}
		w.later(time.Duration(20+g.IntN(1200))*time.Second, "burst", burst)
	}
	burst()
}

// upgrade stops the program, makes its archive one of an earlier version, and starts it. Of that
// version are the schema, and rules of merging that took the first version of a list's item.
func (w *world) upgrade(*rand.Rand) {
	if w.house == nil || w.house.dead.Load() || w.house.isSick() {
		return
	}
	w.oracle.settle(time.Now(), true)
	w.house.close()
	db, err := sql.Open("sqlite3", filepath.Join(w.dataDir, "archive.db"))
	if err == nil {
		_, err = db.Exec(`PRAGMA secure_delete = ON;
			ALTER TABLE revisions DROP COLUMN sharing_rank;
			ALTER TABLE revisions DROP COLUMN counts_at;
			ALTER TABLE downloads DROP COLUMN sha256;
			ALTER TABLE downloads DROP COLUMN forbidden_to;
			DROP TABLE first_reads; DROP TABLE former_terms;
			ALTER TABLE accounts DROP COLUMN owned_since;
			DELETE FROM goose_db_version WHERE version_id > 50;
			UPDATE parts SET revision_id = (SELECT min(id) FROM revisions r WHERE r.recording_id = parts.recording_id AND r.part = parts.part),
				folded = NULL WHERE part = 'meeting' AND revision_id IS NOT NULL;
			UPDATE info SET value = '4' WHERE name = 'merge_rules'`)
		err = errors.Join(err, db.Close())
	}
	w.must(err, "make the archive one of an earlier version")
	w.oracle.mu.Lock()
	for key := range w.oracle.forbade {
		w.oracle.forbade[key] = time.Time{}.Add(-1) // that version kept a refusal at most, which may go on to forbid
	}
	w.oracle.mu.Unlock()
	w.journal.note("the archive is of an earlier version, and is upgraded")
	w.start(w.dataDir)
}

// putOldArchive makes the data directory that an old version of the program left, without
// meetings, for some seeds.
func (w *world) putOldArchive() error {
	if w.seed < firstWide || newRand(w.seed, "old archive").IntN(4) != 0 {
		return nil
	}
	text, err := os.ReadFile("../../archive/testdata/schemas/20.sql")
	if err == nil {
		err = os.MkdirAll(w.dataDir, 0o700)
	}
	if err != nil {
		return err
	}
	path := filepath.Join(w.dataDir, "archive.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		return err
	}
	defer db.Close()
	var statements []string
	for _, line := range strings.Split(string(text), ";\n") {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == "INSERT" && words[2] != "goose_db_version" && words[2] != "info" {
			continue
		}
		statements = append(statements, line)
	}
	w.journal.note("the archive is of an old version")
	_, err = db.Exec(strings.Join(statements, ";\n"))
	return err
}
