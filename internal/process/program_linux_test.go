package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestReleaseProgram gives the program's own pages back, and goes on.
func TestReleaseProgram(t *testing.T) {
	before := residentProgram(t)
	releaseProgram()
	after := residentProgram(t)
	t.Logf("%d kB of the program are resident, %d after", before, after)
	if after >= before { // by how much depends on the pieces in which the page cache has it
		t.Errorf("%d kB of the program are resident, %d kB after they were given back", before, after)
	}
}

// TestDropCache looks for the pages of a file that was written at once in the page cache.
// The file lies in /var/tmp: the directory for tests may be in memory.
func TestDropCache(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "minutebook")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "program")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("/var/tmp is in memory: its files are nowhere else: %v", err)
	}
	const size = 16 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil { // pages that are not written yet stay in memory
		t.Fatal(err)
	}
	before := cached(t, f, size)
	dropCache(name)
	after := cached(t, f, size)
	if before == 0 || after > before/10 {
		t.Errorf("%d pages are in memory, %d after they were given back", before, after)
	}
}

// cached returns how many pages of a file are in the page cache.
func cached(t *testing.T, f *os.File, size int) (n int) {
	t.Helper()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(m) }()
	states := make([]byte, size/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(size), uintptr(unsafe.Pointer(&states[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, s := range states {
		n += int(s & 1)
	}
	return n
}

// residentProgram returns how much of the program's file is in memory, in kB.
func residentProgram(t *testing.T) (kilobytes int) {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("the mappings of this program cannot be read here: %v", err)
	}
	isOwn := false
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(fields[0], ":") {
			isOwn = fields[len(fields)-1] == own
		} else if isOwn && fields[0] == "Rss:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			kilobytes += n
		}
	}
	return kilobytes
}
