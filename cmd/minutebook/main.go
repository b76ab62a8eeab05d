// Command minutebook keeps recorded meetings on one's own disk: it receives,
// fetches, stores, indexes and shows them. `minutebook help` lists the
// commands; `minutebook demo` shows it all without an account.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/blevesearch/bleve/v2"
)

// version is set when the program is built (see Makefile).
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process, should it hang, as when it opens a pipe without a writer
	bleve.SetLog(log.Default())  // which becomes part of the program's log
	m := &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Version: version,
	}
	code := m.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
