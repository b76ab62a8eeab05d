// Package testrun divides the tests between the two runs of `make test`: all
// tests run under the race detector, but for those that call [SkipUnderRace];
// those run once more, alone, without it. packaging/test-without-race finds them
// by that call. It also finds or builds the other programs that tests need, and fails
// the tests of a package after which a goroutine is left.
package testrun

import (
	"bytes"
	"os"
	"os/exec"
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

// Program returns the path of the first of the programs that is installed, or calls
// [Lack].
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Lack(t, names[0])
	return ""
}

// Lack skips a test that needs something which make test installs and which is not here.
// Where the environment has CI, everything is expected to be here and the test fails.
func Lack(t testing.TB, name string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(name + " is not here; make test should have installed it")
	}
	t.Skip(name + " is not here; make test installs it")
}

// IsLong reports whether make long runs the tests.
func IsLong() bool { return os.Getenv("MINUTEBOOK_LONG") != "" }

// OnlyLong skips a test that only make long runs.
func OnlyLong(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("make long runs this test")
	}
}

// Corpus returns the folder of the real meetings, or skips the test where they are not on
// this machine: they are no part of the repository.
func Corpus(t testing.TB) string {
	t.Helper()
	dir, err := corpus.Dir()
	if err != nil {
		t.Skip(err)
	}
	return dir
}

// RealMeetings returns every fifth meeting of one of [corpus.Files], all of them in a long
// run, or skips the test as [Corpus] does.
func RealMeetings(t testing.TB, name string) [][]byte {
	t.Helper()
	var meetings [][]byte
	read := 0
	err := corpus.EachLine(filepath.Join(Corpus(t), name), func(line []byte) error {
		if read++; read%5 == 1 || IsLong() {
			meetings = append(meetings, bytes.Clone(line))
		}
		return nil
	})
	if err != nil || len(meetings) == 0 {
		t.Fatal(name, err)
	}
	return meetings
}
