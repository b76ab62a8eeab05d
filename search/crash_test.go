package search

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

const crashEnv = "MINUTEBOOK_SEARCH_CRASH"

// TestMain lets the test binary be the program that TestKilled kills, and sets
// how many random archives are tried where the command line does not.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	if dir := os.Getenv(crashEnv); dir != "" {
		writeUntilKilled(dir)
	}
	testrun.Main(m)
}

// writeUntilKilled has three writers add and change meetings while one follower
// at a time keeps the index up, is restarted at any commit, and is asked to build
// anew now and then.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	file, err := os.OpenFile(filepath.Join(dir, "index.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	log := zerolog.New(file)
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		panic(err)
	}
	fmt.Println("running")
	for range 3 {
		go func() {
			h := &fixture{t: &testing.T{}, archive: a}
			for {
				id := rand.Int64N(40) + 1
				word := fmt.Sprintf("word%d", rand.IntN(50))
				h.add(meeting(id, "Meeting "+word, "en", day(int(id%28)+1), []utterance{
					{0, "Anna Lee", "We talk about " + word}, {70, "Bob Stone", "and then of something else"}}, nil))
			}
		}()
	}
	for {
		followAWhile(ctx, a, log)
	}
}

// followAWhile opens the index, follows for less than half a second and closes it.
// It logs whenever the index stands beyond the log of changes.
func followAWhile(ctx context.Context, a *archive.Archive, log zerolog.Logger) {
	x, err := Open(ctx, Options{Archive: a, Logger: log})
	if err != nil {
		log.Error().Err(err).Msg("open")
		return
	}
	ctx, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(500))*time.Millisecond)
	defer stop()
	if rand.IntN(3) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, x.Rebuild)
	}
	var following sync.WaitGroup
	following.Go(func() {
		if err := x.Follow(ctx); err != nil {
			log.Error().Err(err).Msg("follow")
		}
	})
	for ctx.Err() == nil {
		at := x.position()
		if head, err := a.Head(ctx); err != nil || at.Epoch != head.Epoch || at.Seq > head.Seq {
			log.Error().Err(err).Stringer("at", at).Stringer("head", head).Msg("the index is ahead of the archive")
		}
		time.Sleep(time.Millisecond)
	}
	following.Wait()
	if err := x.Close(); err != nil {
		log.Error().Err(err).Msg("close")
	}
}

// TestKilled kills a program that indexes, again and again, and checks that the
// index goes on at the right place, and was never built anew without a reason.
func TestKilled(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	for range 10 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fscanln(out)
		time.Sleep(time.Duration(30+rand.IntN(700)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	checkReasons(t, filepath.Join(dir, "index.log"))
	h := &fixture{t: t, dir: dir}
	h.open()
	defer h.close()
	h.catchUp()
	if n := h.index.Progress(); n.Indexed == 0 || n.Indexed != n.Total {
		t.Fatalf("after the crashes: %+v", n)
	}
	fresh, err := Open(context.Background(), Options{Archive: h.archive, Dir: t.TempDir(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := fresh.CatchUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"", "word7", "meeting talk", `"we talk about"`, "else", "word1*"} {
		if diff := cmp.Diff(listAnswers(t, fresh, q), listAnswers(t, h.index, q)); diff != "" {
			t.Errorf("%q: rebuilt (-) and recovered (+) differ:\n%s", q, diff)
		}
	}
	if err := h.index.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// checkReasons reads the log of the killed programs: nothing failed, and an index
// was built only where there was none, it was asked for, or its building or its
// creation was killed.
func checkReasons(t *testing.T, path string) {
	t.Helper()
	expected := []string{"there was none", "it was asked for", "its building was interrupted ",
		"unexpected end of JSON input", "path does not exist", "no such file", "root.bolt: it is empty",
		fmt.Sprintf(" bytes of %d", 4*os.Getpagesize())} // bbolt begins a file with four pages
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var entry struct{ Level, Message, Error, Reason string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue // cut by the kill
		}
		if why := entry.Reason + entry.Error; (entry.Level != "info" || why != "") && !slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(why, e) }) {
			t.Error(line)
		}
	}
}
