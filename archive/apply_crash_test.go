package archive

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"minutebook/internal/testrun"
)

// batchOf is the n-th batch of the crash tests; every third one changes the meetings of
// an earlier one.
func batchOf(n int) ([]Observation, Mark) {
	var batch []Observation
	for i := range 3 {
		id := int64(n*3 + i + 1)
		if n%3 == 2 {
			id -= 6
		}
		raw := meetingJSON(id, fmt.Sprint("Title ", n), strings.Repeat(fmt.Sprint("words of ", n, " "), 40))
		o, err := FromMeeting("main", SourceList, epoch0.Add(time.Duration(n)*time.Hour), raw)
		if err != nil {
			panic(err)
		}
		batch = append(batch, o)
	}
	return batch, Mark{"cursor", []byte(strconv.Itoa(n))}
}

const batches = 12

// TestAnyCutOfTheLogLosesOnlyTime cuts the write-ahead log short at many places,
// as a loss of power can, opens the rest, and goes on from the cursor found.
func TestAnyCutOfTheLogLosesOnlyTime(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	a := openArchive(t, dir)
	if err := a.db.TruncateWAL(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.W.Exec(`PRAGMA wal_autocheckpoint = 0`); err != nil {
		t.Fatal(err)
	}
	for n := range batches {
		batch, mark := batchOf(n)
		if _, err := a.Apply(t.Context(), batch, mark); err != nil {
			t.Fatal(err)
		}
	}
	want := dumpDatabase(t, a.db)
	wal, err := os.ReadFile(a.db.Path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile(a.db.Path)
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := os.ReadFile(a.inbox.Path())
	if err != nil {
		t.Fatal(err)
	}
	const cuts = 15
	for i := range cuts {
		left := append([]byte(nil), wal[:len(wal)*i/cuts+i*7]...)
		if i%2 == 1 { // and the disk's former bytes
			left = append(left, strings.Repeat("stale", 2000)...)
		}
		cut := t.TempDir()
		must(t, os.Mkdir(filepath.Join(cut, "media"), 0o700))
		for name, content := range map[string][]byte{"media/archive-id": nil, "archive.db": main, "archive.db-wal": left, "inbox.db": inbox} {
			if err := os.WriteFile(filepath.Join(cut, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkAfterCrash(t, cut, want)
	}
}

// checkAfterCrash opens a directory after a crash, checks all of it, applies from
// the cursor on, and then everything once more, and compares with an archive without
// a crash.
func checkAfterCrash(t *testing.T, dir string, want map[string][]string) {
	t.Helper()
	a := openArchive(t, dir)
	defer a.Close()
	if _, damages := verify(t, a, VerifyOptions{}); damages != nil {
		t.Fatalf("after the crash: %v", damages)
	}
	cursor, err := a.Mark(t.Context(), "cursor")
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	if cursor != nil {
		n, _ := strconv.Atoi(string(cursor))
		next = n + 1
	}
	for n := next; n < batches; n++ {
		batch, mark := batchOf(n)
		if _, err := a.Apply(t.Context(), batch, mark); err != nil {
			t.Fatal(err)
		}
	}
	for n := range batches {
		batch, _ := batchOf(n)
		if got := apply(t, a, batch...); len(got.Changed)+got.New+got.Revisions != 0 {
			t.Fatalf("batch %d applied again changed something: %+v", n, got)
		}
	}
	got := dumpDatabase(t, a.db)
	for _, own := range []string{"info", "goose_db_version"} { // the epoch and dates of each archive
		delete(got, own)
	}
	if diff := cmp.Diff(got, withoutTables(want, "info", "goose_db_version")); diff != "" {
		t.Fatal(diff)
	}
}

func withoutTables(content map[string][]string, tables ...string) map[string][]string {
	out := map[string][]string{}
	for k, v := range content {
		out[k] = v
	}
	for _, table := range tables {
		delete(out, table)
	}
	return out
}

// TestKilledWhileApplying kills a process that applies as fast as it can, again
// and again: every batch for which Apply had returned is there, and none by half.
func TestKilledWhileApplying(t *testing.T) {
	testrun.SkipUnderRace(t)
	if dir := os.Getenv("MINUTEBOOK_TEST_APPLY"); dir != "" {
		applyForever(dir)
	}
	dir := t.TempDir()
	openArchive(t, dir).Close()
	for round := range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileApplying$")
		cmd.Env = append(os.Environ(), "MINUTEBOOK_TEST_APPLY="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		returned := -1
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				returned = n
				if n%5 == round {
					cmd.Process.Kill()
				}
			}
		}
		cmd.Wait()
		a := openArchive(t, dir)
		if _, damages := verify(t, a, VerifyOptions{}); damages != nil {
			t.Fatalf("round %d: %v", round, damages)
		}
		cursor, err := a.Mark(t.Context(), "cursor")
		n, _ := strconv.Atoi(string(cursor))
		if err != nil || returned < 0 || n < returned {
			t.Fatalf("round %d: the cursor is at %q, %v, and Apply had returned for %d", round, cursor, err, returned)
		}
		a.Close()
	}
}

// applyForever is the process that is killed. It says after each batch which
// one it was, from the cursor on.
func applyForever(dir string) {
	a, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	cursor, _ := a.Mark(context.Background(), "cursor")
	n, _ := strconv.Atoi(string(cursor))
	for {
		n++
		batch, mark := batchOf(n)
		if _, err := a.Apply(context.Background(), batch, mark); err != nil {
			fmt.Println("apply:", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}
