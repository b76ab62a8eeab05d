package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestSkippedTestsAreNamed runs a module with a test of each end, and one that ends its process.
func TestSkippedTestsAreNamed(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n",
		"a/a_test.go": `package a
import "testing"
func TestPasses(t *testing.T) { t.Log("well") }
func TestLacks(t *testing.T) { t.Log("well"); t.Run("a tool", func(t *testing.T) { t.Skip("no tool\nis here") }) }
func TestFails(t *testing.T) { t.Error("badly") }`,
		"b/b_test.go": "package b\nimport (\"os\"; \"testing\")\nfunc TestEnds(t *testing.T) { println(\"at once\"); os.Exit(3) }",
		"c/c_test.go": "package c\nfunc broken( {}",
		"d/d_test.go": "package d\nimport \"testing\"\nfunc TestPasses(t *testing.T) {}",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(packages ...string) (string, error) {
		cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, packages...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		var out strings.Builder
		err := run(cmd, &out)
		return out.String(), err
	}
	out, err := start("./...")
	for _, want := range []string{"badly", "FAIL\texample/a", "at once", "FAIL\texample/b", "c_test.go:2", "FAIL\texample/c", "ok  \texample/d",
		"\nSkipped, and so not proved here:\nexample/a TestLacks/a_tool: no tool is here\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	if err == nil || strings.Contains(out, "well") || t.Failed() {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := start("./d"); err != nil || strings.Contains(out, "Skipped") {
		t.Errorf("%v: %s", err, out)
	}
}
