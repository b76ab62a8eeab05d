package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAPortOfRootsNamesTheRemedy listens, without the rights of root, on a port that is root's
// alone.
func TestAPortOfRootsNamesTheRemedy(t *testing.T) {
	if first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err != nil || strings.TrimSpace(string(first)) != "1024" {
		t.Skipf("the ports from %s on are everybody's here, %v", first, err)
	}
	refused := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, since it has lost its rights
		err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &new([2]unix.CapUserData)[0])
		if err == nil {
			_, err = listen("web.listen", "127.0.0.1:1")
		}
		refused <- err
	}()
	err := <-refused
	if err == nil || !strings.Contains(err.Error(), "web.listen") || !strings.Contains(err.Error(), "docs/systemd.md") {
		t.Errorf("%v", err)
	}
}
