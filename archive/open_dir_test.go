package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/rs/zerolog"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestAMissingDatabaseIsNoFirstStart takes databases away from an archive, or
// their content, and opens it.
func TestAMissingDatabaseIsNoFirstStart(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	migrations := fstest.MapFS{"1_x.sql": {Data: []byte("-- +goose Up\nCREATE TABLE x (y TEXT);\n")}}
	remove := func(t *testing.T, path string) { must(t, os.RemoveAll(path)) }
	empty := func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }
	for name, c := range map[string]struct {
		files  []string
		change func(*testing.T, string)
		want   error
	}{
		"archive.db emptied": {[]string{"archive.db"}, empty, ErrDamaged},
		"archive.db removed": {[]string{"archive.db"}, remove, ErrDamaged},
		"inbox.db emptied":   {[]string{"inbox.db"}, empty, ErrDamaged},
		"inbox.db removed":   {[]string{"inbox.db"}, remove, ErrDamaged},
		"service.db emptied": {[]string{"service.db"}, empty, ErrDamaged},
		"service.db removed": {[]string{"service.db"}, remove, ErrDamaged},
		"only recordings":    {[]string{"archive.db", "inbox.db", "service.db"}, remove, ErrDamaged},
		"no database at all": {[]string{"archive.db", "inbox.db", "service.db", "media"}, remove, nil},
		"only an index":      {[]string{"archive.db", "inbox.db", "service.db", "media", "lock"}, remove, nil},
		"the first start was interrupted": {[]string{"archive.db"}, func(t *testing.T, path string) {
			for _, name := range []string{"inbox.db", "service.db", "media"} {
				remove(t, filepath.Join(filepath.Dir(path), name))
			}
			empty(t, path)
		}, nil},
		"header overwritten": {[]string{"archive.db"}, func(t *testing.T, path string) { overwrite(t, path, 0, 60) }, ErrDamaged},
		"inbox's header":     {[]string{"inbox.db"}, func(t *testing.T, path string) { overwrite(t, path, 0, 60) }, ErrDamaged},
		"service's header":   {[]string{"service.db"}, func(t *testing.T, path string) { overwrite(t, path, 0, 60) }, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			open := func() (*Archive, error) {
				a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
				if err != nil {
					return nil, err
				}
				_, err = a.SideDB(context.Background(), "service.db", migrations, nil)
				return a, errors.Join(err)
			}
			a, err := open()
			must(t, err)
			apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "said")))
			withMedia(t, a, 1, "moving pictures")
			must(t, a.Close())
			must(t, os.MkdirAll(filepath.Join(dir, "index", "v1-000001"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "index", "v1-000001", "store"), []byte("x"), 0o600))
			for _, file := range c.files {
				c.change(t, filepath.Join(dir, file))
			}
			a, err = open()
			if !errors.Is(err, c.want) {
				t.Errorf("%v; want %v", err, c.want)
			}
			if a != nil {
				a.Close()
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// overwrite puts rubbish into a file.
func overwrite(t *testing.T, path string, at int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	rubbish := make([]byte, n)
	for i := range rubbish {
		rubbish[i] = 0xee
	}
	_, err = f.WriteAt(rubbish, at)
	must(t, err)
}

// TestALostDatabaseIsNamedWhileItIsOpen removes the inbox under a running archive.
func TestALostDatabaseIsNamedWhileItIsOpen(t *testing.T) {
	t.Parallel()
	a := filledArchive(t)
	must(t, os.Remove(a.inbox.Path()))
	v, damages := verify(t, a, VerifyOptions{Repair: true})
	if v.ExitCode() != DamageDatabase.ExitCode() || len(damages) == 0 || damages[0].Path != a.inbox.Path() {
		t.Errorf("%d: %v", v.ExitCode(), damages)
	}
	if _, err := a.DatabaseFiles(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("the files of a backup: %v", err)
	}
}

func TestNewerArchiveIsRefusedUntouched(t *testing.T) {
	a := filledArchive(t)
	dir := a.dir
	if _, err := a.db.W.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`); err != nil {
		t.Fatal(err)
	}
	a.Close()
	before, err := os.ReadFile(filepath.Join(dir, "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, sqlite.ErrNewer) {
		t.Fatalf("open: %v; want ErrNewer", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "archive.db"))
	if err != nil || string(before) != string(after) {
		t.Fatalf("a refused database was changed (%v)", err)
	}
}

// TestOpenSaysWhatItWaitsFor has another program lock a database, until the archive says so.
func TestOpenSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	a := filledArchive(t)
	must(t, errors.Join(a.Close(), os.Chmod(a.dir, 0o700)))
	for _, exclusive := range []string{"", "&_locking_mode=exclusive"} {
		other := sqlite.Connect(filepath.Join(a.dir, "archive.db"), "?_txlock=immediate"+exclusive, nil)
		tx, err := other.Begin()
		must(t, err)
		logged, log := io.Pipe()
		go func() {
			line, err := bufio.NewReader(logged).ReadString('\n')
			if err != nil || !strings.Contains(line, `"database":"archive.db"`) {
				t.Errorf("logged %q, %v", line, err)
			}
			_ = errors.Join(tx.Rollback(), other.Close())
			_, _ = io.Copy(io.Discard, logged)
		}()
		opened, err := Open(t.Context(), Options{Dir: a.dir, Logger: zerolog.New(log)})
		must(t, err)
		must(t, opened.Close())
		must(t, log.Close())
	}
}

// TestVerifyChecksDatabasesThatAreNotOpen damages a database that a command such as
// verify has no need to open.
func TestVerifyChecksDatabasesThatAreNotOpen(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{0, 4096} {
		dir := t.TempDir()
		o := Options{Dir: dir, Create: true, Logger: zerolog.Nop()}
		a, err := Open(t.Context(), o)
		must(t, err)
		_, err = a.SideDB(t.Context(), "notes.db", fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}, nil)
		must(t, err)
		must(t, a.Close())
		path := filepath.Join(dir, "notes.db")
		overwrite(t, path, at, 4096)
		a, err = Open(t.Context(), o)
		must(t, err)
		if v, damages := verify(t, a, VerifyOptions{}); v.ExitCode() != DamageDatabase.ExitCode() || damages[0].Path != path {
			t.Errorf("damaged at %d: %+v, %v", at, v, damages)
		}
		must(t, a.Close())
	}
}

// A process that is refused finds the owner's number in the file of the lock, also while
// the owner changes: the file is never empty once it was written.
func TestTheLockAlwaysNamesAProcess(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	cycle := func() {
		lock, err := LockDir(dir)
		if err == nil {
			err = lock.Release()
		}
		if err != nil {
			t.Error(err)
		}
	}
	cycle()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 500 {
			cycle()
		}
	}()
	unnamed := 0
	for going := true; going; {
		if lockOwner(filepath.Join(dir, "lock")) != os.Getpid() {
			unnamed++
		}
		select {
		case <-ended:
			going = false
		default:
		}
	}
	if unnamed > 0 {
		t.Errorf("%d times the file named no process", unnamed)
	}
}

// A shorter number replaces a longer one whole.
func TestTheLockNamesItsOwner(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lock"), []byte("123456789012\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if got := lockOwner(filepath.Join(dir, "lock")); got != os.Getpid() {
		t.Errorf("the file names %d, not %d", got, os.Getpid())
	}
}

// TestRootLeavesFilesToTheOwner opens an archive as root in a data directory of another
// user: all files that root creates belong to that user afterwards, and none that has a
// name elsewhere.
func TestRootLeavesFilesToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	must(t, os.Chown(dir, 65534, 65534))
	a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "index", "v1-000001"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "index", "v1-000001", "segment"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(elsewhere, "shadow"), nil, 0o600))
	must(t, os.Link(filepath.Join(elsewhere, "shadow"), filepath.Join(dir, "hard")))
	must(t, os.Symlink(filepath.Join(elsewhere, "shadow"), filepath.Join(dir, "soft")))
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "folder")))
	must(t, a.Close())
	checkOwner(t, 65534, dir, "hard")
	checkOwner(t, 0, elsewhere)
}

// checkOwner fails for files and folders of a directory that are not a user's, but for those of
// some names.
func checkOwner(t *testing.T, user uint32, dir string, but ...string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() || slices.Contains(but, e.Name()) {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != user {
			t.Errorf("%s is of user %d", path, info.Sys().(*syscall.Stat_t).Uid)
		}
		return err
	}))
}

// TestRootLeavesFilesElsewhereToTheOwner has the index and the recordings on another disk, by a
// link and by media.url: the files that root creates there belong to the owner of the data
// directory, and nothing else is given away there, or in a folder that is not that owner's.
func TestRootLeavesFilesElsewhereToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, disk := t.TempDir(), t.TempDir()
	linked, index, stored, roots := filepath.Join(disk, "media"), filepath.Join(disk, "index"), filepath.Join(disk, "new"), filepath.Join(disk, "roots")
	must(t, os.Chown(dir, 65534, 65534))
	for _, folder := range []string{linked, index} {
		must(t, errors.Join(os.Mkdir(folder, 0o700), os.Chown(folder, 65534, 65534), os.Symlink(folder, filepath.Join(dir, filepath.Base(folder)))))
	}
	for range 2 { // the second time the folder is there
		a, err := Open(t.Context(), Options{Dir: dir, Create: true, MediaURL: "file://" + stored, Logger: zerolog.Nop()})
		must(t, err)
		_, err = a.Media().Put(t.Context(), strings.NewReader("pictures"))
		must(t, err)
		must(t, errors.Join(os.MkdirAll(filepath.Join(index, "v1-000001", "store"), 0o700),
			os.MkdirAll(filepath.Join(linked, "mine"), 0o700), os.WriteFile(filepath.Join(linked, "mine", "secret"), nil, 0o600)))
		must(t, a.Close())
		checkOwner(t, 65534, linked, "mine", "secret")
		checkOwner(t, 65534, index)
		checkOwner(t, 65534, stored)
		checkOwner(t, 0, filepath.Join(linked, "mine"))
	}
	must(t, errors.Join(os.MkdirAll(filepath.Join(roots, "v1-000001"), 0o700), os.Remove(filepath.Join(dir, "index")), os.Symlink(roots, filepath.Join(dir, "index"))))
	a, err := Open(t.Context(), Options{Dir: dir, Logger: zerolog.Nop()})
	must(t, err)
	must(t, a.Close())
	checkOwner(t, 0, roots)
}
