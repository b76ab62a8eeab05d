package mutations

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// mutation is a fault that can be put into the code.
type mutation struct {
	name, why string
	pkg, test string // the package, and the names of the tests that notice it
	changes   []change
}

// change is the text of a file that a mutation replaces.
type change struct{ file, old, new string }

var (
	head  = regexp.MustCompile(`^why  ([^\n]+)\ntest (\S+) (\S+)\n`)
	block = regexp.MustCompile(`(?s)^file (\S+)\n<<<<\n(.*?)\n====\n(.*?)\n?>>>>\n`)
)

// top is the root of the module, and seeds the tests of a mutation that simulated years,
// which are the package years, have to notice.
const (
	top   = "../.."
	seeds = "seeds"
	years = "./simulation/years"
)

func mutations(t *testing.T) (list []mutation) {
	files, err := filepath.Glob("testdata/*.patch")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h := head.FindStringSubmatch(string(raw))
		if h == nil {
			t.Fatalf("%s is no mutation", f)
		}
		m := mutation{name: strings.TrimSuffix(filepath.Base(f), ".patch"), why: h[1], pkg: h[2], test: h[3]}
		for rest := string(raw[len(h[0]):]); rest != ""; {
			b := block.FindStringSubmatch(rest)
			if b == nil {
				t.Fatalf("%s is no mutation from here on: %s", f, rest)
			}
			m.changes = append(m.changes, change{b[1], b[2], b[3]})
			rest = rest[len(b[0]):]
		}
		list = append(list, m)
	}
	return list
}

// apply returns the files with the fault.
func (m mutation) apply() (changed map[string]string, err error) {
	changed = map[string]string{}
	for _, c := range m.changes {
		text, ok := changed[c.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(top, c.file))
			if err != nil {
				return nil, err
			}
			text = string(raw)
		}
		if n := strings.Count(text, c.old); n != 1 {
			return nil, fmt.Errorf("%s has the text of mutation %s %d times, not once", c.file, m.name, n)
		}
		changed[c.file] = strings.Replace(text, c.old, c.new, 1)
	}
	for file, text := range changed {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// Every mutation still fits the code, and the tests that notice it are there.
func TestMutationsApply(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, m := range mutations(t) {
		if _, err := m.apply(); err != nil {
			t.Error(err)
		}
		if m.test != seeds && !slices.ContainsFunc(testNames(t, m.pkg), regexp.MustCompile(m.test).MatchString) {
			t.Errorf("mutation %s: %s has no test %s", m.name, m.pkg, m.test)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testNames returns the names of the tests of a package.
func testNames(t *testing.T, pkg string) (names []string) {
	files, err := filepath.Glob(filepath.Join(top, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunction.FindAllSubmatch(raw, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// TestMutations is `make mutate`. MUTATIONS names those to try, as a regular expression,
// and BY=seeds tries them by short simulated histories instead of their tests.
func TestMutations(t *testing.T) {
	testrun.SkipUnderRace(t)
	if os.Getenv("MINUTEBOOK_MUTATE") == "" {
		t.Skip("only by make mutate")
	}
	only := regexp.MustCompile(os.Getenv("MUTATIONS"))
	tried := slices.DeleteFunc(mutations(t), func(m mutation) bool { return !only.MatchString(m.name) })
	for i := range tried {
		if os.Getenv("BY") == seeds {
			tried[i].pkg, tried[i].test = years, seeds
		}
	}
	for pkg, tests := range testsByPackage(tried) {
		if result := runTests(t, mutation{pkg: pkg, test: tests}, ""); result != "survived" {
			t.Fatalf("%s %s without a fault: %s; a fault can only be noticed by tests that pass without it", pkg, tests, result)
		}
	}
	survived := 0
	for _, m := range tried {
		began := time.Now()
		result := m.try(t)
		if result != "noticed" {
			survived++
			t.Errorf("mutation %s: %s", m.name, result)
		}
		fmt.Printf("%-34s %-18s %4.0f s  %s %s: %s\n", m.name, result, time.Since(began).Seconds(), m.pkg, m.test, m.why)
	}
	fmt.Printf("%d not noticed\n", survived)
}

// testsByPackage returns the tests of the mutations, by package.
func testsByPackage(list []mutation) map[string]string {
	tests := map[string]string{}
	for _, m := range list {
		switch known := tests[m.pkg]; {
		case known == "" || m.test == seeds:
			tests[m.pkg] = m.test
		default:
			tests[m.pkg] = known + "|" + m.test
		}
	}
	return tests
}

// try runs the tests of a mutation: "noticed", "survived" or the reason why it did not
// run.
func (m mutation) try(t *testing.T) string {
	changed, err := m.apply()
	if err != nil {
		return err.Error()
	}
	dir := t.TempDir()
	root, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	replace, n := map[string]string{}, 0
	for file, text := range changed {
		n++
		name := filepath.Join(dir, fmt.Sprintf("%d.go", n))
		replace[filepath.Join(root, file)] = name
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return runTests(t, m, filepath.Join(dir, "overlay.json"))
}

// histories are the simulated ones that have to notice a mutation: short and eventful ones, and
// then whole years, which have quiet times in the middle and a rush at the end. The first ones are of
// the newest world.
var histories = []struct{ first, count, days int }{{50000, 2, 75}, {45000, 16, 75}, {30000, 12, 75}, {30100, 3, 365}}

// runTests runs the tests of a mutation with an overlay, or as the code is without one:
// "noticed" if they fail, "survived", or the reason why they did not run.
func runTests(t *testing.T, m mutation, overlay string) string {
	if m.test != seeds {
		return runTest(t, m, overlay)
	}
	m.test = "^TestSimulate$"
	for _, h := range histories {
		result := runTest(t, m, overlay, fmt.Sprint("MINUTEBOOK_SEED=", h.first), fmt.Sprint("MINUTEBOOK_SEEDS=", h.count),
			fmt.Sprint("MINUTEBOOK_DAYS=", h.days), "MINUTEBOOK_SHRINK=0", "MINUTEBOOK_FIRST_ONLY=1")
		if result != "survived" {
			return result
		}
	}
	return "survived"
}

// runTest runs the tests of a mutation in an environment.
func runTest(t *testing.T, m mutation, overlay string, environment ...string) string {
	cmd := exec.Command("go", "test", "-vet=off", "-timeout", "20m", "-overlay", overlay, "-run", m.test, m.pkg)
	cmd.Env = append(os.Environ(), environment...)
	if drawsFile(t, m.pkg) {
		cmd.Args = append(cmd.Args, "-rapid.nofailfile")
	}
	cmd.Dir = top
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "no tests to run"):
		return "did not run: " + text[:min(len(text), 300)]
	case err == nil:
		return "survived"
	}
	return "noticed"
}

// drawsFile reports whether a failing test of the package would write its draws into
// the tree, unless it is told not to: packages without rapid refuse the flag.
func drawsFile(t *testing.T, pkg string) bool {
	files, err := filepath.Glob(filepath.Join(top, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		raw, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(raw), `"pgregory.net/rapid"`)
	})
}
