// Search measures building, size and speed of the search index on meetings
// resampled from the corpus, beside FTS5 with a row for every utterance in the
// same run:
//
//	go run ./bench/search [-meetings N] [-data DIR] [-queries N] [-fts=false] [-rebuild] [-fill] [-only typing|pages|CLASS,…]
//
// With -data the archive, the index and FTS5's table stay for further runs, and
// are made where they are missing. The words of the queries come from the archive, so
// that any archive can be measured, and a filled one at once; -rebuild makes the index anew beside the one
// that is there, as a daemon does, while it answers. Times are in milliseconds,
// of searches asked one after the other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/pprof"
)

type options struct {
	meetings, queries int
	data              string
	fts, rebuild      bool
	fill              bool
	profile, only     string
	idle              bool
}

// newArchive is how many meetings a new archive gets.
const newArchive = 10_000

func main() {
	var o options
	flag.IntVar(&o.meetings, "meetings", 0, fmt.Sprintf("how many meetings at least; 0: those of the archive that is there, or %d", newArchive))
	flag.IntVar(&o.queries, "queries", 200, "how many queries of each class")
	flag.StringVar(&o.data, "data", "", "keep the archive, its index and FTS5's table here")
	flag.BoolVar(&o.fts, "fts", true, "measure FTS5 too")
	flag.BoolVar(&o.rebuild, "rebuild", false, "build the index anew and measure that")
	flag.BoolVar(&o.fill, "fill", false, "only make the archive and, with -fts, FTS5's table, for a later run")
	flag.StringVar(&o.profile, "profile", "", "write CPU profiles here: FILE.build, FILE.typing, FILE.pages, FILE.search and FILE.arrivals")
	flag.StringVar(&o.only, "only", "", "ask only the queries of these classes, with commas between")
	flag.BoolVar(&o.idle, "idle", false, "only open the index, ask once, and tell of time and memory (a measurement starts this itself)")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) error {
	if o.idle {
		return idle(ctx, o)
	}
	if o.data == "" {
		var err error
		if o.data, err = os.MkdirTemp("", "search"); err != nil {
			return err
		}
		defer os.RemoveAll(o.data)
	}
	h, err := newHouse(ctx, o)
	if err != nil {
		return err
	}
	defer h.close()
	if o.fill {
		if !o.fts {
			return nil
		}
		db, err := h.newFTS(ctx)
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := h.build(ctx); err != nil {
		return err
	}
	for _, kind := range []struct {
		name    string
		measure func(context.Context) error
	}{{"typing", h.measureTyping}, {pages, h.measurePages}} {
		if o.only != "" && o.only != kind.name {
			continue
		}
		stop, err := profile(o.profile, kind.name)
		if err != nil {
			return err
		}
		err = kind.measure(ctx)
		stop()
		if err != nil || o.only != "" {
			return err
		}
	}
	if err := h.measure(ctx); err != nil || o.only != "" {
		return err
	}
	if err := h.arrivals(ctx); err != nil {
		return err
	}
	h.close()
	return startIdle(ctx, o)
}

// profile begins a CPU profile, if one is asked for, that stop ends.
func profile(path, kind string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path + "." + kind)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
