package process

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram gives back the pages of the program's own code and constants, most of
// which a program at rest does not use. Those that it uses are mapped again from the
// page cache. Only mappings that can never have been written to are touched: changes
// in memory would be lost.
func releaseProgram() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	defer dropCache(own)
	var begin, end, changed uintptr
	candidate := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 1 && !strings.HasSuffix(fields[0], ":"): // a mapping begins
			candidate = strings.HasPrefix(fields[1], "r-") && fields[len(fields)-1] == own
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &begin, &end); err != nil {
				return
			}
			changed = 0
		case candidate && (fields[0] == "Anonymous:" || fields[0] == "Swap:"):
			var kilobytes uintptr
			if _, err := fmt.Sscan(fields[1], &kilobytes); err != nil {
				return
			}
			changed += kilobytes
		case candidate && fields[0] == "VmFlags:" && changed == 0:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED) // a failure costs memory alone
		}
	}
}

// dropCache asks for the pages of a file that nobody maps to leave the page cache, where
// they count as memory of the service. Of a file that was written at once they lie there in
// pieces of up to 2 MB, and since Linux 6.18 the first use of a byte maps all of its
// piece, so that soon the whole program would be back. Read from the disk again they
// lie in small pieces.
func dropCache(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // a failure costs memory alone
}
