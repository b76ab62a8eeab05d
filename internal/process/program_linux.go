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
