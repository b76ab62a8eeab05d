package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestKilledOnAFailingDisk runs the load of TestKilledWhileEverythingRuns on a small disk,
// which becomes full in the middle of each round. The daemon and the commands are killed on
// the full disk, a daemon that is started there is killed as well, and one that finds the
// disk read-only says so and ends. With room again everything is as without these faults.
func TestKilledOnAFailingDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	disk := testrun.SmallDisk(t, 400)
	service, key := sandbox(t, t.TempDir())
	l := newLoad(newServedOn(t, disk.Dir+"/data", t.TempDir(), service.url+"/external/v1", key), t.TempDir())
	l.senders, l.every, l.pause = 4, 5*time.Millisecond, 50*time.Millisecond
	full := 0
	for range kills(2, 100) {
		l.start()
		l.runUntilKilled(func() {
			time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Second))))
			for range 1 + rand.IntN(10) { // a log gives room back
				disk.Fill()
				time.Sleep(100 * time.Millisecond)
			}
		})
		if l.startsOnFullDisk() {
			full++
		}
		disk.SetReadOnly(true)
		if code, said := l.serveUntil(time.Minute); code <= 0 || !strings.Contains(said, "read-only") {
			t.Errorf("on a read-only disk the daemon ended with %d and said %s", code, said)
		}
		disk.SetReadOnly(false)
		disk.Clear()
	}
	l.start()
	l.checkKept(t)
	l.stop(syscall.SIGINT)
	t.Logf("%d deliveries acknowledged, %d meetings forgotten; on the full disk %d daemons went on until they were killed", len(l.acked), len(l.forgot), full)
}

// startsOnFullDisk reports whether a daemon goes on until it is killed.
func (l *load) startsOnFullDisk() bool {
	code, said := l.serveUntil(2 * time.Second)
	if code > 0 && !strings.Contains(said, "full") {
		l.t.Errorf("on a full disk the daemon ended with %d and said %s", code, said)
	}
	return code < 0
}

// serveUntil runs a daemon, and kills it after some time. It returns the exit code, -1 if the
// daemon was killed, and the words on standard error.
func (l *load) serveUntil(end time.Duration) (code int, said string) {
	var stderr bytes.Buffer
	cmd := exec.Command("minutebook", "serve", "-c", l.config)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	kill := time.AfterFunc(end, func() { cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		l.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}
