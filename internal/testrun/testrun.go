// Package testrun divides the tests between the two runs of `make test`: all
// tests run under the race detector, but for those that call [SkipUnderRace];
// those run once more, alone, without it. packaging/test-without-race finds them
// by that call.
package testrun

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"minutebook/internal/corpus"
)

// SkipUnderRace skips the test in the run under the race detector, which makes
// everything several times slower and finds nothing in a test that does one step
// after the other. A package whose tests all call it is not even linked with it.
//
// It is called in the body of the test function itself, in no helper and in no
// subtest: the run without the race detector starts only the tests whose own
// text has the call. Anything else fails, in both runs, so that no test falls
// between them.
func SkipUnderRace(t testing.TB) {
	t.Helper()
	if !calledBy(t.Name()) {
		t.Fatal("call testrun.SkipUnderRace in the test function itself, in no helper and in no subtest")
	}
	if UnderRace {
		t.Skip("this test runs without the race detector: make plain")
	}
}

// calledBy reports whether the caller of SkipUnderRace is the function of this name.
func calledBy(test string) bool {
	pc := make([]uintptr, 1)
	runtime.Callers(3, pc)
	frame, _ := runtime.CallersFrames(pc).Next()
	return strings.HasSuffix(frame.Function, "."+test)
}

// RealMeetings returns the meetings of one of [corpus.Files], or skips the test
// where they are not on this machine.
func RealMeetings(t testing.TB, name string) [][]byte {
	t.Helper()
	dir, err := corpus.Dir()
	if err != nil {
		t.Skip(err)
	}
	var meetings [][]byte
	err = corpus.EachLine(filepath.Join(dir, name), func(line []byte) error {
		meetings = append(meetings, append([]byte(nil), line...))
		return nil
	})
	if err != nil || len(meetings) == 0 {
		t.Fatal(name, err)
	}
	return meetings
}
