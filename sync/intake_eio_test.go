package syncer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/diskfault"
	"minutebook/internal/testrun"
)

const failingDir = "MINUTEBOOK_TEST_FAILING_DIR"

// runOnFailingDisk is the child process: it follows the lines of standard input
// and prints a line for each.
func runOnFailingDisk(ctx context.Context, dir string) error {
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	s, err := New(Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	longLine := strings.Replace(whole, "hello", strings.Repeat("hello, ", 10_000), 1)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var reply any
		switch command, id, _ := strings.Cut(lines.Text(), " "); command {
		case "put":
			var n int
			fmt.Sscan(id, &n)
			_, err = a.Inbox().Put(ctx, inbox.Delivery{Account: "a", WebhookID: id, ReceivedAt: time.Now(),
				Body: fmt.Appendf(nil, longLine, n, time.Now().UTC().Format(time.RFC3339))})
		case "drain":
			reply, err = s.drainBatch(ctx, a.Inbox())
		case "replay":
			err = s.settleQuarantine(ctx)
		case "quarantine": // as an earlier version did
			err = a.Inbox().Quarantine(ctx, 1, "apply observation of 1: disk I/O error")
		case "counts":
			reply, err = a.Inbox().Counts(ctx)
		}
		result, _ := json.Marshal(map[string]any{"said": reply, "error": fmt.Sprint(err)})
		fmt.Println(string(result))
	}
	return nil
}

// Good deliveries wait while the disk fails with EIO: while the archive is read,
// written or synced, and while the inbox notes the applied ones. None is
// quarantined, those that an earlier version quarantined for that are replayed,
// and all are applied once the disk is well.
func TestGoodDeliveriesWaitForAFailingDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	if dir := os.Getenv(failingDir); dir != "" {
		fmt.Println(runOnFailingDisk(t.Context(), dir))
		os.Exit(1)
	}
	for _, c := range []struct{ call, file string }{
		{diskfault.Write, "archive.db-wal"}, {diskfault.Sync, "archive.db-wal"}, {diskfault.Read, "archive.db"},
		{diskfault.Write, "inbox.db-wal"}, {diskfault.Sync, "inbox.db-wal"}, {diskfault.Read, "inbox.db-wal"},
	} {
		t.Run(c.call+" "+c.file, func(t *testing.T) {
			d := diskfault.New(t)
			command := startOnFailingDisk(t, d)
			for _, line := range []string{"put 1", "put 2"} {
				if got := command(line); got.Error != "<nil>" {
					t.Fatalf("%s: %s", line, got.Error)
				}
			}
			failures := 0
			for skip := range 4 { // the first call, the second, …
				d.Fail(t, c.call, c.file, skip, 1_000_000)
				if got := command("drain"); got.Error != "<nil>" {
					failures++
				}
				d.Heal(t)
				if got := command("counts"); got.counts(t).Quarantined != 0 {
					t.Fatalf("after %d calls: %s", skip, got.Said)
				}
			}
			if failures == 0 && c.call != diskfault.Read { // a read may be answered from memory
				t.Error("nothing failed")
			}
			if got := command("quarantine"); got.Error != "<nil>" {
				t.Fatal(got.Error)
			}
			for _, line := range []string{"replay", "drain", "drain"} {
				if got := command(line); got.Error != "<nil>" {
					t.Errorf("%s with the disk well: %s", line, got.Error)
				}
			}
			if got := command("counts"); got.counts(t) != (inbox.Counts{Applied: 2}) {
				t.Errorf("in the end: %s", got.Said)
			}
		})
	}
}

// reply is a line of the child.
type reply struct {
	Said  json.RawMessage
	Error string
}

func (s reply) counts(t *testing.T) (c inbox.Counts) {
	t.Helper()
	if err := json.Unmarshal(s.Said, &c); err != nil || s.Error != "<nil>" {
		t.Fatalf("counts: %s, %s, %v", s.Said, s.Error, err)
	}
	return c
}

// startOnFailingDisk starts the child and returns a function that sends it a line and reads its reply.
func startOnFailingDisk(t *testing.T, d *diskfault.Disk) (command func(line string) reply) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestGoodDeliveriesWaitForAFailingDisk$")
	cmd.Env = append(d.Env(), failingDir+"="+d.Dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	return func(line string) (s reply) {
		t.Helper()
		io.WriteString(stdin, line+"\n")
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &s) != nil {
			t.Fatalf("%s: the child says %q", line, lines.Text())
		}
		return s
	}
}
