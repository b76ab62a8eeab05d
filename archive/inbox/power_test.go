package inbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/internal/diskfault"
	"minutebook/internal/testrun"
)

const powerDir = "MINUTEBOOK_TEST_POWER_DIR"

// serveInbox is the child process: it puts each delivery that a line of standard
// input names, many at a time, and prints how that ended.
func serveInbox(dir string) error {
	i, err := Open(context.Background(), filepath.Join(dir, "inbox.db"), Options{Create: true})
	if err != nil {
		return err
	}
	fmt.Println("open")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		id := lines.Text()
		go func() {
			switch duplicate, err := i.Put(context.Background(), delivery("a", id, powerBody(id))); {
			case err != nil:
				fmt.Println("err", id)
			case duplicate:
				fmt.Println("duplicate", id)
			default:
				fmt.Println("new", id)
			}
		}()
	}
	select {} // until it is killed
}

// powerBody is a body of 60 KB that hardly compresses: a hundred fill the log, so
// that it is checkpointed.
func powerBody(id string) string {
	var s strings.Builder
	fmt.Fprintf(&s, `{"id":%q,"text":"`, id)
	random := rand.New(rand.NewPCG(uint64(len(id)), uint64(id[len(id)-1])))
	for s.Len() < 60_000 {
		fmt.Fprintf(&s, "%016x", random.Uint64())
	}
	return s.String() + `"}`
}

// A powerChild is a child process with an inbox on a failing disk.
type powerChild struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Writer
	lines *bufio.Scanner
}

func startPowerChild(t *testing.T, d *diskfault.Disk) *powerChild {
	t.Helper()
	c := &powerChild{t: t, cmd: exec.Command(os.Args[0], "-test.run=^TestSurvivesPowerCuts$")}
	c.cmd.Env = append(d.Env(), powerDir+"="+d.Dir)
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.stdin, c.lines = stdin, bufio.NewScanner(stdout)
	if !c.lines.Scan() || c.lines.Text() != "open" {
		c.kill()
		t.Fatalf("the child did not open its inbox: %s", c.lines.Text())
	}
	return c
}

// put sends deliveries all at once and returns how many results there were of
// each kind. It adds those that were acknowledged to acknowledged.
func (c *powerChild) put(acknowledged map[string]bool, ids ...string) map[string]int {
	c.t.Helper()
	fmt.Fprintln(c.stdin, strings.Join(ids, "\n"))
	results := map[string]int{}
	for range ids {
		if !c.lines.Scan() {
			c.t.Fatalf("the child ended: %v", c.lines.Err())
		}
		result, id, _ := strings.Cut(c.lines.Text(), " ")
		results[result]++
		if result != "err" {
			acknowledged[id] = true
		}
	}
	return results
}

func (c *powerChild) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// wantAcknowledged opens a copy of the disk's content and fails unless it has every
// acknowledged delivery, whole.
func wantAcknowledged(t *testing.T, d *diskfault.Disk, acknowledged map[string]bool) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(d.Image)); err != nil {
		t.Fatal(err)
	}
	i := openInbox(t, filepath.Join(dir, "inbox.db"), Options{})
	defer i.Close()
	rows, err := i.db.R.Query(`PRAGMA integrity_check`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var result string
		if err := rows.Scan(&result); err != nil || result != "ok" {
			t.Errorf("integrity: %s, %v", result, err)
		}
	}
	for id := range acknowledged {
		found, err := i.DeliveryOf(t.Context(), "a", id)
		if err == nil {
			found, err = i.Delivery(t.Context(), found.ID)
		}
		if err != nil || string(found.Body) != powerBody(id) {
			t.Errorf("%s was acknowledged; after a power cut it has a body of %d bytes, %v", id, len(found.Body), err)
		}
	}
}

// Every acknowledged delivery is on the disk after a power cut at any moment, also after
// a kill in between and after writes and syncs that failed with EIO: of the log,
// of the file, once and for a while.
func TestSurvivesPowerCuts(t *testing.T) {
	testrun.SkipUnderRace(t)
	if dir := os.Getenv(powerDir); dir != "" {
		fmt.Println(serveInbox(dir))
		os.Exit(1)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	d := diskfault.New(t)
	acknowledged, failures := map[string]bool{}, 0
	for round := range 10 {
		c := startPowerChild(t, d)
		call, file := []string{diskfault.Sync, diskfault.Write}[round/2%2], []string{"-wal", ".db"}[round%2]
		for burst := range 6 {
			if burst == 2 && round > 1 {
				count := 1 + random.IntN(3)
				if round >= 8 {
					count = 1_000_000 // so that a put fails, although a group that failed is put again, each on its own
				}
				d.Fail(t, call, file, random.IntN(4), count)
			}
			var ids []string
			for k := range 1 + random.IntN(30) {
				ids = append(ids, fmt.Sprintf("msg_%d_%d_%d", round, burst, k))
			}
			failures += c.put(acknowledged, ids...)["err"]
		}
		var last sync.WaitGroup
		last.Go(func() { fmt.Fprintf(c.stdin, "late_%d\n", round) })
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		c.kill()
		last.Wait()
		d.Heal(t)
		wantAcknowledged(t, d, acknowledged)
		if random.IntN(2) == 0 {
			d.PowerCut(t)
		}
		if t.Failed() {
			t.Fatalf("round %d: %s %s", round, call, file)
		}
	}
	if failures == 0 {
		t.Error("no put failed")
	}
	t.Logf("%d acknowledged, %d failed", len(acknowledged), failures)
}

// A delivery whose sync failed is in the log, and only in memory, when the process
// is killed. The next process finds it, and may acknowledge a repeat: by then it
// has to be on the disk, although the log's pages count as clean.
func TestSurvivesAFailedSyncAndAKill(t *testing.T) {
	testrun.SkipUnderRace(t)
	d := diskfault.New(t)
	acknowledged := map[string]bool{}
	c := startPowerChild(t, d)
	c.put(acknowledged, "msg_1")
	d.Fail(t, diskfault.Sync, "-wal", 0, 1_000_000)
	if got := c.put(acknowledged, "msg_2"); got["err"] != 1 {
		t.Errorf("a put whose sync fails: %v", got)
	}
	c.kill()
	d.Heal(t)
	c = startPowerChild(t, d)
	if got := c.put(acknowledged, "msg_2"); got["duplicate"] != 1 {
		t.Errorf("the repeat: %v; the log was not read", got)
	}
	c.kill()
	wantAcknowledged(t, d, acknowledged)
}
