package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestReadmeRuns runs the commands of README.md in their order, against a sandbox. Programs
// that run until they are stopped go on meanwhile, setup asks on a terminal, and nothing is
// built: of the goals of make only the commands of the program count, which is this test's.
// The first lines of the page name a configuration that setup writes later.
func TestReadmeRuns(t *testing.T) {
	testrun.SkipUnderRace(t)
	maker := testrun.Program(t, "make")
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(b[1]) {
			line, _, _ = strings.Cut(line, "#")
			if goal, ok := strings.CutPrefix(line, "make "); ok {
				recipe, err := exec.Command(maker, "-n", "-s", "-C", "../..", strings.TrimSpace(goal)).Output()
				if err != nil {
					t.Fatalf("make %s: %v", goal, err)
				}
				line = regexp.MustCompile(`(?m)^go build .*`).ReplaceAllString(string(recipe), "")
			}
			lines = append(lines, strings.ReplaceAll(strings.TrimSpace(line), "bin/minutebook", "minutebook"))
		}
	}
	service, key := sandbox(t, t.TempDir())
	t.Chdir(t.TempDir())
	ran := 0
	for _, line := range lines {
		args := strings.Fields(line)
		if len(args) == 0 {
			continue
		}
		if args[0] != "minutebook" {
			t.Fatalf("%q is no command of the program", line)
		}
		_, err := os.Stat("config.toml")
		isSetUp := err == nil
		ran++
		switch {
		case args[1] == "serve" && !isSetUp:
		case args[1] == "serve", args[1] == "demo":
			start(t, args[1:]...)
		case args[1] == "setup":
			d := startDialog(t, args[1:]...)
			for _, q := range [][2]string{{"Address of the service", service.url + "/external/v1"}, {"API key", key}, {"A short name", "ada"}, {"E-mail address", "ada@company.example"},
				{"Directory of the archive", ""}, {"Address under which other people", ""}, {"The page listens on", ""}, {"HTTPS address", "https://hooks.example"},
				{"Deliveries come in on", ""}, {"Read the meetings now", ""}} {
				d.answer(q[0], q[1]+"\n")
			}
			if err := <-d.ended; err != nil {
				t.Fatalf("%v: %s", err, d.shown.log())
			}
		default: // at once, or as soon as the daemon has read it
			eventually(t, line, func() (bool, any) {
				out, err := exec.Command("bash", "-c", line).CombinedOutput()
				return err == nil, string(out)
			})
		}
	}
	if ran < 9 {
		t.Errorf("only %d commands were found: %q", ran, lines)
	}
}
