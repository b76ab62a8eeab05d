// Skips runs go test with its own arguments and prints its output, and at the end each test
// that was skipped, with the reason: a run that proved less than it could says so.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	if err := run(cmd, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

func run(cmd *exec.Cmd, w io.Writer) error {
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	skipped, err := relay(events, w)
	err = errors.Join(err, cmd.Wait())
	if len(skipped) > 0 {
		fmt.Fprintf(w, "\nSkipped, and so not proved here:\n%s", strings.Join(skipped, ""))
	}
	return err
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

var reason = regexp.MustCompile(`(?s)^.*?\n\s+\w+\.go:\d+: (.*?)(?:\n\s*--- SKIP: .*)?$`)

// relay writes the output of packages, and of the tests that fail, and returns a line for each
// test that was skipped.
func relay(events io.Reader, w io.Writer) (skipped []string, err error) {
	type test struct{ pkg, name string }
	kept := map[test]string{}
	for d := json.NewDecoder(events); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return skipped, nil
		} else if err != nil {
			_, rest := io.Copy(w, io.MultiReader(d.Buffered(), events)) // so that go test ends
			return skipped, errors.Join(fmt.Errorf("read the output of go test: %w", err), rest)
		}
		at := test{e.Package, e.Test}
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			fmt.Fprint(w, e.Output)
		case e.Action == "output":
			kept[at] += e.Output
		case e.Action == "skip" && e.Test != "":
			why := "no reason is given"
			if found := reason.FindStringSubmatch(kept[at]); found != nil {
				why = strings.Join(strings.Fields(found[1]), " ")
			}
			skipped = append(skipped, fmt.Sprintf("%s %s: %s\n", e.Package, e.Test, why))
			delete(kept, at)
		case e.Action == "fail": // of a package: also a test that the end of its process interrupted
			for other, output := range kept {
				if other == at || e.Test == "" && other.pkg == e.Package {
					fmt.Fprint(w, output)
					delete(kept, other)
				}
			}
		case e.Action == "pass":
			delete(kept, at)
		}
	}
}
