package search

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
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
	os.Exit(m.Run())
}

// writeUntilKilled adds and changes meetings while the index follows.
func writeUntilKilled(dir string) {
	t := &testing.T{}
	h := &house{t: t, dir: dir}
	h.open()
	go h.index.Follow(context.Background())
	fmt.Println("running")
	for {
		id := rand.Int64N(40) + 1
		word := fmt.Sprintf("word%d", rand.IntN(50))
		h.add(meeting(id, "Meeting "+word, "en", day(int(id%28)+1), []line{
			{0, "Anna Lee", "We talk about " + word}, {70, "Bob Stone", "and then of something else"}}, nil))
	}
}

// TestKilled kills a program that indexes, again and again, and checks that
// the index goes on at the right place.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	for range 6 {
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
		time.Sleep(time.Duration(30+rand.IntN(400)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	h := &house{t: t, dir: dir}
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
		if diff := cmp.Diff(told(t, fresh, q), told(t, h.index, q)); diff != "" {
			t.Errorf("%q: rebuilt (-) and recovered (+) differ:\n%s", q, diff)
		}
	}
	if err := h.index.Check(context.Background()); err != nil {
		t.Error(err)
	}
}
