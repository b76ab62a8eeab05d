package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"minutebook/control"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// laterVersion is the number of a migration of a later version.
const laterVersion = 99999

// TestTheWayBack goes back from a later version by the commands of docs/install.md. The present
// program is the earlier version; the databases have a schema that it does not know. Deliveries
// that came before the upgrade and after it are found again.
func TestTheWayBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newServed(t, "http://"+testrun.FreeAddress(t)+"/external/v1", "mbk_nobody_answers_there")
	var done []int64
	deliver := func(n int) {
		t.Helper()
		s.start()
		for range n {
			id := int64(len(done) + 1)
			if !s.deliver(http.DefaultClient, id) {
				t.Fatalf("delivery %d is not taken", id)
			}
			done = append(done, id)
		}
		s.checkAll(done, rand.New(rand.NewPCG(1, 2)))
		s.stop(syscall.SIGINT)
	}
	deliver(5)
	databases := map[string]string{"archive.db": "../../archive/migrations", "notes.db": "../../archive/notes/migrations"}
	for name, migrations := range databases {
		upgrade(t, filepath.Join(s.data, name), migrations)
		setLater(t, filepath.Join(s.data, name), false)
	}
	deliver(5) // to the later version, which the present program stands for
	for name := range databases {
		setLater(t, filepath.Join(s.data, name), true)
	}

	commands := strings.Split(strings.TrimSpace(documentedBlock(t, "install.md", "To go back,", "sh")), "\n")
	adopt := commands[len(commands)-1]
	for name := range databases {
		out, err := exec.Command("minutebook", "serve", "-c", s.config).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != control.NewerCode || !strings.Contains(string(out), "run the Minutebook that wrote it, or newer") {
			t.Errorf("a database is left as it is: %v, %s", err, out)
		}
		copies, err := filepath.Glob(filepath.Join(s.data, name+".before-*"))
		if err != nil || len(copies) != 1 {
			t.Fatalf("copies of %s: %q, %v", name, copies, err)
		}
		_, number, _ := strings.Cut(copies[0], ".before-")
		shell(t, strings.NewReplacer("DIR", s.data, "NUMBER", number, "archive.db", name).Replace(strings.Join(commands[:len(commands)-1], "\n")))
	}
	if out := shell(t, strings.Replace(adopt, "DIR", s.data, 1)); !strings.Contains(out, fmt.Sprint(len(done), " deliveries will be applied again")) {
		t.Errorf("adopt says %s", out)
	}
	deliver(1)
	run(t, "verify", "-c", s.config)
}

// upgrade migrates a database as a later version does.
func upgrade(t *testing.T, path, migrations string) {
	t.Helper()
	files := fstest.MapFS{fmt.Sprint(laterVersion, "_later.sql"): {Data: []byte("CREATE TABLE later (x INTEGER);")}}
	names, err := fs.Glob(os.DirFS(migrations), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		files[name] = &fstest.MapFile{}
	}
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), files, sqlite.MigrationReports{}); err != nil {
		t.Fatal(err)
	}
}

// setLater shows or hides the later schema, which the present program cannot stand for otherwise.
func setLater(t *testing.T, path string, shown bool) {
	t.Helper()
	db := sqlite.Connect(path, "", nil)
	defer db.Close()
	if _, err := db.Exec(`UPDATE goose_db_version SET is_applied = ? WHERE version_id = ?`, shown, laterVersion); err != nil {
		t.Fatal(err)
	}
}
