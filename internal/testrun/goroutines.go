package testrun

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, fails where a goroutine outlives them, and ends
// the program. TestMain calls it.
func Main(m *testing.M) { os.Exit(Watched{m}.Run()) }

// MainOnOneProcessor is [Main] for a package whose tests live in bubbles of synctest. Under
// the race detector they share one processor, which no bubble's timing needs: on several of
// them the detector itself crashes now and then (golang.org/issue/78156).
func MainOnOneProcessor(m *testing.M) {
	if UnderRace {
		runtime.GOMAXPROCS(1)
	}
	Main(m)
}

// Watched are the tests of a package, for a TestMain that hands them to another
// library.
type Watched struct{ Tests *testing.M }

// Run runs the tests, and fails as well where a goroutine outlives them: every
// goroutine has an owner that waits for its end.
func (w Watched) Run() int {
	code := w.Tests.Run()
	if code != 0 {
		return code
	}
	// Bleve starts these when the program begins, and keeps them.
	err := goleak.Find(goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "a goroutine outlives the tests: %v\n", err)
	return 1
}
