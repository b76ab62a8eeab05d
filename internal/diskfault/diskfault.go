// Package diskfault makes the disk fail beneath SQLite, for tests. Its library,
// which gcc compiles and the dynamic linker preloads into a child process, stands
// between SQLite and the system:
//
//   - It fails chosen reads, writes and syncs of chosen files with EIO, or has them take long.
//   - It keeps an image of the files as a power cut would leave them: a write reaches the image
//     with the next successful sync of its file. After a failed sync the pages
//     count as clean and never reach it, unless they are written again: that is
//     how Linux treats them.
//
// Unsynced writes survive the death of the process, as the page cache does. Calls
// of Go code, which makes its system calls itself, are not seen.
package diskfault

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

//go:embed testdata/disk.c
var source []byte

// A Disk is a failing disk for the processes that are started with its Env.
type Disk struct {
	// Dir is the directory whose files are on the disk. Tests that read Image
	// keep only one level of files in it.
	Dir string
	// Image holds the files of Dir as a power cut would leave them.
	Image string

	library, cache string
	control        string
}

// New compiles the library and makes the directories. It skips the test where the library does
// not compile, as without gcc.
func New(t testing.TB) *Disk {
	t.Helper()
	top := t.TempDir()
	d := &Disk{Dir: filepath.Join(top, "data"), Image: filepath.Join(top, "image"), cache: filepath.Join(top, "cache"),
		library: filepath.Join(top, "disk.so"), control: filepath.Join(top, "control")}
	for _, dir := range []string{d.Dir, d.Image, d.cache} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(top, "disk.c")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-Wall", "-o", d.library, file, "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Skipf("the library of the failing disk does not compile here: %v\n%s", err, out)
	}
	return d
}

// Env is the environment of a process on the disk: this one's and the library's.
func (d *Disk) Env() []string {
	return append(os.Environ(), "LD_PRELOAD="+d.library, "DISKFAULT_DIR="+d.Dir, "DISKFAULT_IMAGE="+d.Image,
		"DISKFAULT_CACHE="+d.cache, "DISKFAULT_CONTROL="+d.control)
}

// Calls that can fail.
const (
	Read  = "r"
	Write = "w"
	Sync  = "s"
)

// Fail has calls of files whose path ends in suffix fail: after skip of them have
// succeeded, count fail. It replaces the settings of an earlier call.
func (d *Disk) Fail(t testing.TB, calls, suffix string, skip, count int) {
	t.Helper()
	d.set(t, fmt.Sprintf("%s %s %d %d", calls, suffix, skip, count))
}

// Delay has calls of files whose path ends in suffix take longer. A process that is killed
// meanwhile has not made the call. It replaces the settings of an earlier Fail or Delay.
func (d *Disk) Delay(t testing.TB, calls, suffix string, delay time.Duration) {
	t.Helper()
	d.set(t, fmt.Sprintf("%s %s 0 1000000000 %d", calls, suffix, delay.Milliseconds()))
}

// set replaces the line of the control file.
func (d *Disk) set(t testing.TB, line string) {
	t.Helper()
	next := d.control + ".next"
	if err := os.WriteFile(next, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, d.control); err != nil {
		t.Fatal(err)
	}
}

// IsDirty reports whether a file of Dir has pages that were written and not synced.
func (d *Disk) IsDirty(t testing.TB, name string) bool {
	t.Helper()
	pages, err := os.ReadFile(filepath.Join(d.cache, name+".dirty"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return slices.Contains(pages, 1)
}

// Heal has no more calls fail, or take long.
func (d *Disk) Heal(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.control); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// PowerCut replaces the files of Dir by their image on the disk. No process may
// run on the disk.
func (d *Disk) PowerCut(t testing.TB) {
	t.Helper()
	for _, step := range []func() error{
		func() error { return os.RemoveAll(d.Dir) },
		func() error { return os.CopyFS(d.Dir, os.DirFS(d.Image)) },
		func() error { return os.RemoveAll(d.cache) },
		func() error { return os.Mkdir(d.cache, 0o700) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}
