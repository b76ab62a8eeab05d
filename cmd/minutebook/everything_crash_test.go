package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

// TestKilledWhileEverythingRuns kills the daemon, and the commands that run then, while
// meetings arrive, are read, searched for, backed up, exported and forgotten and the
// configuration is loaded: 1,000 times in make long. Acknowledged meetings are kept and
// found, forgotten ones are nowhere, and verify finds no damage.
func TestKilledWhileEverythingRuns(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	count := kills(2, 1000)
	service, key := sandbox(t, t.TempDir())
	l := newLoad(newServed(t, service.url+"/external/v1", key), t.TempDir())
	l.senders, l.every, l.pause = 4, 5*time.Millisecond, 50*time.Millisecond
	for range count {
		l.start()
		l.runUntilKilled(func() { time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Second)))) })
	}
	l.start()
	l.checkKept(t)
	l.stop(syscall.SIGINT)
	t.Logf("%d rounds: %d deliveries acknowledged, %d meetings forgotten, commands that ended well %v; of the others the last failed with %v",
		count, len(l.acked), len(l.forgot), l.done, l.failed)
}

// runUntilKilled runs the load until wait returns, and kills the daemon and the commands.
func (l *load) runUntilKilled(wait func()) {
	ctx, stop := context.WithCancel(l.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); l.run(ctx) }()
	wait()
	l.cmd.Process.Signal(syscall.SIGKILL)
	stop()
	<-ended
	l.cmd.Wait()
}

// kills returns the number of kills of a test, as rounds does; MINUTEBOOK_CRASH_ROUNDS sets it.
func kills(few, many int) int {
	if n, err := strconv.Atoi(os.Getenv("MINUTEBOOK_CRASH_ROUNDS")); err == nil {
		return n
	}
	return rounds(few, many)
}

// checkKept checks a daemon that has gone through a load.
func (l *load) checkKept(t *testing.T) {
	t.Helper()
	for id := range l.forgot { // once more where it was cut off
		_ = exec.Command("minutebook", "forget", fmt.Sprint(id), "--reason", "load", "-c", l.config).Run()
	}
	kept := map[int64]bool{}
	eventually(t, "everything is applied", func() (bool, any) {
		waiting := 0
		for _, d := range runJSON[[]control.DeliveryInfo](t, "webhook", "deliveries", "-c", l.config, "--limit", "1000000") {
			kept[d.RecordingID] = true
			if d.State != "applied" {
				waiting++
			}
		}
		return waiting == 0, waiting
	})
	for _, id := range l.acked {
		if !kept[id] {
			t.Errorf("delivery %d was acknowledged and is lost", id)
		}
	}
	eventually(t, "everything is indexed", func() (bool, any) {
		status := runJSON[control.StatusResult](t, "status", "-c", l.config)
		return status.Meetings == status.Indexed, []int{status.Meetings, status.Indexed}
	})
	for range min(5, len(l.acked)) {
		id := l.acked[rand.IntN(len(l.acked))]
		found := runJSON[control.SearchResult](t, "search", "-c", l.config, fmt.Sprintf("zq%dqz", id))
		if found.Total != 1 && !l.forgot[id] || found.Total > 0 && l.forgot[id] {
			t.Errorf("searching the words of %d, forgotten %t: %d found", id, l.forgot[id], found.Total)
		}
	}
	run(t, "verify", "-c", l.config)
	run(t, "backup", "--keep", "1", l.backups(), "-c", l.config)
	run(t, "export", "--format", "ndjson", "--to", l.exports(), "-c", l.config)
	var words []string
	for id := range l.forgot {
		words = append(words, fmt.Sprintf("zq%dqz", id))
	}
	if len(words) == 0 {
		return
	}
	if found := residue.FindAny(t, words, l.data, l.backups(), l.exports()); len(found) > 0 {
		t.Errorf("words of forgotten meetings are in %q", found)
	}
}
