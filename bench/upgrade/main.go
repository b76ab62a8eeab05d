// Upgrade measures how long the first start of this version takes beside an archive that 0.9.0
// has written, and how much memory:
//
//	go run ./bench/upgrade [-meetings N] [-dir DIR] [-program FILE]
//
// The archive has 0.9.0's schema, from the file that was frozen at its release, and meetings
// resampled from the corpus, repeated until there are enough. A tenth of them have two
// versions, so that they are decided again. The peer copies the same database. Twice its size
// has to be free in DIR, 13 GB for 100,000 meetings. The program is built as the packages
// have it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"minutebook/bench/corpus"
)

type options struct {
	meetings int64
	dir      string
	program  string
}

func main() {
	var o options
	flag.Int64Var(&o.meetings, "meetings", 100_000, "how many meetings at least")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "a folder on the disk that is measured; what is made there is deleted at the end")
	flag.StringVar(&o.program, "program", "", "the program, instead of building it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, o)
	if errors.Is(err, corpus.ErrMissing) {
		fmt.Println("left out:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.dir, err = os.MkdirTemp(o.dir, "upgrade"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	if o.program == "" {
		o.program = filepath.Join(o.dir, "minutebook")
		build := exec.CommandContext(ctx, "packaging/build", o.program)
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the program: %w", err)
		}
	}
	began, data := time.Now(), filepath.Join(o.dir, "data")
	meetings, several, err := fill(ctx, data, filepath.Join(o.dir, "small"), o.meetings)
	if err != nil {
		return err
	}
	database := filepath.Join(data, "archive.db")
	info, err := os.Stat(database)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d meetings in %s\n", meetings, time.Since(began).Round(time.Second))
	peer, err := measureCopy(ctx, database, filepath.Join(o.dir, "copy.db"))
	if err != nil {
		return err
	}
	first, err := measureStart(ctx, o.program, data)
	if err != nil {
		return err
	}
	again, err := measureStart(ctx, o.program, data)
	if err != nil {
		return err
	}
	fmt.Printf("| to the peer | %d meetings, %d of several versions, %d MB | seconds | memory, MB |\n| --- | --- | --- | --- |\n", meetings, several, info.Size()/1_000_000)
	row := func(name string, took time.Duration, memory string) {
		fmt.Printf("| %.3f | %s | %.1f | %s |\n", took.Seconds()/peer.Seconds(), name, took.Seconds(), memory)
	}
	row("`cp` of the database, and `sync` of the copy: the peer", peer, "")
	row("**the first start of this version** (`minutebook stats`)", first.took, megabytes(first.memory))
	row("of it the copy", first.copying, "")
	row("of it the transaction", first.migrating, "")
	row("of it the rest: meetings that are decided again, and what every start takes", first.took-first.copying-first.migrating, "")
	row("the next start", again.took, megabytes(again.memory))
	return nil
}

func megabytes(bytes int64) string { return fmt.Sprint(bytes / 1_000_000) }
