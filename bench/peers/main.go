// Peers asks the same questions of our index and of other engines, on the same
// meetings in the same run:
//
//	go run ./bench/peers [-meetings N] [-queries N]
//
// The peers are SQLite's FTS5, plain Bleve and Xapian, each with one document for each
// meeting, and ripgrep over the exported meetings. Meetings are resampled from the corpus.
// It prints a table for Markdown. Peers that are not on this machine are left out by name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"minutebook/bench/corpus"
)

type options struct {
	meetings, queries int
	python            string
}

func main() {
	var o options
	flag.IntVar(&o.meetings, "meetings", 1000, "how many meetings")
	flag.IntVar(&o.queries, "queries", 50, "how many queries of each class")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "the Python that has Debian's python3-xapian")
	flag.Parse()
	err := run(context.Background(), o)
	if errors.Is(err, corpus.ErrMissing) {
		fmt.Println("left out:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// engine answers queries.
type engine struct {
	name  string
	ask   func(q query) (answer, error)
	close func() error
}

// errNotAsked is the error of an engine that has no such query.
var errNotAsked = errors.New("the engine has no such query")

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	docs, err := newDocuments(o)
	if err != nil {
		return err
	}
	var engines []engine
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.close())
		}
	}()
	fmt.Printf("Built from %d meetings with %.1f MB of text:", o.meetings, float64(docs.bytes)/1e6)
	for i, open := range []func(context.Context, *documents, string) (engine, builtIn, error){openOurs, openFTS, openBleve, openXapian, openRipgrep} {
		e, built, err := open(ctx, docs, dir)
		var absent absentError
		if errors.As(err, &absent) {
			fmt.Printf(" %v, left out;", absent)
			continue
		}
		if err != nil {
			return err
		}
		engines = append(engines, e)
		if i > 0 {
			fmt.Print(";")
		}
		fmt.Printf(" %s in %.1f s, %.2f of the text", e.name, built.elapsed.Seconds(), float64(built.size)/float64(docs.bytes))
	}
	fmt.Print(".\n\n")
	return compare(docs.classes(), engines)
}

// absentError is the error of a peer that is not on this machine.
type absentError struct{ name string }

// Error names the peer.
func (e absentError) Error() string { return e.name + " is not here" }
