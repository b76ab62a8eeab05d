package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"minutebook/internal/testrun"
)

var (
	fenced = regexp.MustCompile("(?ms)^\\s*```[^\n]*\n(.*?)^\\s*```")
	inline = regexp.MustCompile("`([^`]+)`")
	// called finds the command lines of a shell line: those behind sudo, docker exec and &&.
	called   = regexp.MustCompile(`(?:^|[ /(;|&$])minutebook((?: +(?:'[^']*'|"[^"]*"|[^\s#;|&>)]+))+)`)
	command  = regexp.MustCompile(`^(--)?[a-z]+$`)
	argument = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// TestDocumentedCommandsExist parses every command line of the program that stands in a
// document, a packaged file or a message: commands and flags of these names exist, and no
// argument is one too many. Nothing is run.
func TestDocumentedCommandsExist(t *testing.T) {
	testrun.SkipUnderRace(t)
	found := 0
	check := func(path, line string) {
		for _, c := range called.FindAllStringSubmatch(line, -1) {
			var args []string
			for _, a := range argument.FindAllString(c[1], -1) {
				args = append(args, strings.Trim(a, `'"[]`))
			}
			if args[0] == "minutebook" { // docker exec minutebook minutebook …
				args = args[1:]
			}
			if len(args) == 0 || !command.MatchString(args[0]) {
				continue // the output of a command, docker's own, or prose
			}
			found++
			if err := parseCommand(args); err != nil {
				t.Errorf("%s: minutebook %s: %v", path, strings.Join(args, " "), err)
			}
		}
	}
	for _, path := range documentFiles(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if strings.HasSuffix(path, ".md") {
			for _, b := range fenced.FindAllStringSubmatch(text, -1) {
				for line := range strings.Lines(b[1]) {
					check(path, strings.TrimSpace(line))
				}
			}
			text = fenced.ReplaceAllString(text, "")
		}
		for _, span := range inline.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
			check(path, span[1])
		}
	}
	if found < 150 {
		t.Errorf("only %d command lines were found", found)
	}
}

// documentFiles returns the documents, the files that packages have, and the sources of
// the program, whose messages name commands.
func documentFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != "../.." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"simulation", "testdata", "bin"}, name)):
			return fs.SkipDir
		case entry.IsDir(), strings.HasSuffix(name, "_test.go"):
		case name == "cli.md": // is made of the commands
		case strings.HasSuffix(name, ".md"), strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".toml"), strings.HasSuffix(name, ".service"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// parseCommand fails for arguments of no command. A mention may leave out arguments, and
// write a placeholder for a number.
func parseCommand(args []string) error {
	root := (&Main{Version: "test"}).rootCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	err = cmd.ParseFlags(rest)
	if _, ok := errors.AsType[*pflag.InvalidValueError](err); ok || errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	left := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(left) > 0 {
		return unknownCommand(cmd, left[0])
	}
	if len(left) > 0 && cmd.Args != nil && !strings.Contains(strings.Join(left, " "), "…") {
		return cmd.Args(cmd, left)
	}
	return nil
}
