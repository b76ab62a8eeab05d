package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"minutebook/internal/testrun"
)

// otherProcess is another process that has a database open.
type otherProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// openElsewhere starts a process that opens a database as any SQLite program does.
func openElsewhere(t *testing.T, path string) *otherProcess {
	t.Helper()
	p := &otherProcess{t: t, cmd: exec.Command(os.Args[0], "-test.run=^TestMigratesWhileAnotherProcessHasTheFileOpen$")}
	p.cmd.Env = append(os.Environ(), "MINUTEBOOK_TEST_ELSEWHERE="+path)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, p.out = in, bufio.NewScanner(out); p.cmd.Start() != nil {
		t.Fatal("the other process does not start")
	}
	t.Cleanup(p.end)
	return p
}

// run has the process run a statement, and returns the first column of its last row.
func (p *otherProcess) run(statement string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, statement); err != nil || !p.out.Scan() {
		p.t.Fatalf("%s: %v, %v", statement, err, p.out.Err())
	}
	return p.out.Text()
}

// end has the process close the database.
func (p *otherProcess) end() {
	p.in.Close()
	p.cmd.Wait()
}

// runElsewhere is the other process.
func runElsewhere(path string) {
	ctx := context.Background()
	db := Connect(path, "?mode=rw", nil)
	conn, err := db.Conn(ctx)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		last := ""
		rows, err := conn.QueryContext(ctx, lines.Text())
		for err == nil && rows.Next() {
			columns, _ := rows.Columns()
			rest := make([]any, len(columns))
			rest[0] = &last
			for i := range rest[1:] {
				rest[i+1] = new(any)
			}
			err = rows.Scan(rest...)
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			last = err.Error()
		}
		fmt.Println(last)
	}
	conn.Close()
	db.Close()
	os.Exit(0)
}

// TestMigratesWhileAnotherProcessHasTheFileOpen has another process keep the database
// open, idle or in the middle of reading, while it is migrated and written to. That
// process empties the log and closes the file: all rows stay.
func TestMigratesWhileAnotherProcessHasTheFileOpen(t *testing.T) {
	testrun.SkipUnderRace(t)
	if path := os.Getenv("MINUTEBOOK_TEST_ELSEWHERE"); path != "" {
		runElsewhere(path)
	}
	for name, begins := range map[string][]string{"idle": {`SELECT count(*) FROM a`}, "reading": {`BEGIN`, `SELECT count(*) FROM a`}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			db, _, err := opened(t, path, first)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.W.Exec(`INSERT INTO a VALUES ('old')`); err != nil {
				t.Fatal(err)
			}
			other := openElsewhere(t, path)
			for _, statement := range begins {
				other.run(statement)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if db, _, err = opened(t, path, second); err != nil {
				t.Fatal(err)
			}
			if name == "reading" {
				if got := other.run(`SELECT count(*) FROM a`); got != "1" {
					t.Errorf("the other process reads %q", got)
				}
				other.run(`COMMIT`)
			}
			if _, err := db.W.Exec(`INSERT INTO a (x) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT 'new' || i FROM n`); err != nil {
				t.Fatal(err)
			}
			other.run(`PRAGMA wal_checkpoint(TRUNCATE)`)
			if _, err := db.W.Exec(`INSERT INTO a (x) VALUES ('last')`); err != nil {
				t.Fatal(err)
			}
			other.end()
			if _, err := db.W.Exec(`INSERT INTO a (x) VALUES ('very last')`); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db, got, err := opened(t, path, second)
			if err != nil || len(got) != 503 || !slices.Contains(got, "last") || !slices.Contains(got, "very last") {
				t.Fatalf("%d rows are left of 503, %v", len(got), err)
			}
			if sound, err := Column[string](t.Context(), db.R, `PRAGMA integrity_check`); err != nil || sound[0] != "ok" {
				t.Errorf("integrity: %v, %v", sound, err)
			}
			if _, got, err = opened(t, path+".before-1", first); err != nil || len(got) != 1 {
				t.Errorf("the copy from before has %v, %v", got, err)
			}
		})
	}
}
