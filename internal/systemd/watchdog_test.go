package systemd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.Main(m) }

// TestTheWatchdogHearsOfAnswersOnly asks a program that answers, fails, is slow and answers again.
func TestTheWatchdogHearsOfAnswersOnly(t *testing.T) {
	dir, err := os.MkdirTemp("", "mb") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	socket, err := manager.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "120000000")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		answer := make(chan error)
		var reports atomic.Int64
		defer close(answer)
		// It does not look at its context, as a read of a disk that hangs.
		go RunWatchdog(ctx, func(context.Context) error { return <-answer }, func(error) { reports.Add(1) })
		expect := func(when string, pings, reported int) {
			t.Helper()
			synctest.Wait()
			came := 0
			err := socket.Control(func(fd uintptr) {
				for buffer := make([]byte, 100); ; came++ {
					if _, _, err := unix.Recvfrom(int(fd), buffer, unix.MSG_DONTWAIT); err != nil {
						return
					}
				}
			})
			if err != nil || came != pings || reports.Load() != int64(reported) {
				t.Errorf("%s: the watchdog heard %d times, and %d failures are reported: %v", when, came, reports.Load(), err)
			}
		}
		answer <- nil
		expect("an answer", 1, 0)
		for range 3 {
			answer <- errors.New("it is gone")
			expect("a failure", 0, 1)
		}
		answer <- nil
		expect("it answers again", 1, 1)
		time.Sleep(110 * time.Second) // it is asked after 40
		expect("silence", 0, 2)
		answer <- nil
		expect("it was busy", 1, 2)
		time.Sleep(110 * time.Second)
		expect("silence again", 0, 3)
	})
}
