package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// long is second with a migration that takes a while.
var long = map[string]string{"00001_a.sql": first["00001_a.sql"], "00003_c.sql": second["00003_c.sql"] +
	" CREATE TABLE filler (x BLOB); INSERT INTO filler WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT randomblob(4000) FROM n;"}

// TestKilledWhileMigrating kills the process that migrates, again and again and
// at any moment: the old version opens the database, with all that was in it, and
// at last a migration comes to its end.
func TestKilledWhileMigrating(t *testing.T) {
	testrun.SkipUnderRace(t)
	if path := os.Getenv("MINUTEBOOK_TEST_MIGRATE"); path != "" {
		migrateAndEnd(path)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO a SELECT value FROM json_each('["old", "older"]')`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	done, elapsed := migrateKilled(t, path, 0)
	if !done {
		t.Fatal("an undisturbed migration did not come to its end")
	}
	killed := 0
	for range 12 {
		if done { // back to the old version
			for _, log := range []string{"-wal", "-shm"} { // as docs/install.md says
				os.Remove(path + log)
			}
			if err := os.Rename(path+".before-1", path); err != nil {
				t.Fatal(err)
			}
		}
		if done, _ = migrateKilled(t, path, elapsed); done {
			continue
		}
		killed++
		db, got, err := opened(t, path, first)
		if errors.Is(err, ErrNewer) { // it had come to its end
			done = true
			continue
		}
		if err != nil || len(got) != 2 || got[0] != "old" {
			t.Fatalf("killed %d times, the old version reads %v, %v", killed, got, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, got, err := opened(t, path, long); err != nil || len(got) != 2 {
		t.Fatalf("the new version reads %v, %v", got, err)
	}
	t.Logf("killed %d times of 12", killed)
}

// migrateKilled runs a process that migrates and kills it within a time, unless
// that is 0; done tells whether it came to its end first.
func migrateKilled(t *testing.T, path string, timeout time.Duration) (done bool, ran time.Duration) {
	t.Helper()
	ctx := t.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout/8+time.Duration(rand.Int64N(int64(timeout))))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledWhileMigrating$")
	cmd.Env = append(os.Environ(), "MINUTEBOOK_TEST_MIGRATE="+path)
	started := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%v: %s", err, out)
	}
	return err == nil, time.Since(started)
}

// migrateAndEnd is the process that is killed.
func migrateAndEnd(path string) {
	db, err := Open(context.Background(), path)
	if err == nil {
		err = db.Migrate(context.Background(), migrationSet(long), MigrationReports{})
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}
