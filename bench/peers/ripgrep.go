package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// openRipgrep searches the exported meetings. It needs no index.
func openRipgrep(ctx context.Context, _ *documents, dir string) (e engine, built builtIn, err error) {
	program, err := exec.LookPath("rg")
	if err != nil {
		return e, built, absentError{"ripgrep"}
	}
	exported := filepath.Join(dir, "exported")
	built.size, err = sizeOf(exported)
	return engine{"ripgrep", func(q query) (answer, error) { return askRipgrep(ctx, program, exported, q) }, func() error { return nil }}, built, err
}

// askRipgrep lists the files that have a word, or a phrase on one line. It starts a process.
func askRipgrep(ctx context.Context, program, dir string, q query) (answer, error) {
	args := []string{"--files-with-matches", "--ignore-case", "--word-regexp"}
	switch {
	case q.Kind == "any":
		args = append(args, strings.Join(q.Words, "|"))
	case q.Kind == "prefix":
		args = append(args, q.Words[0]+`\w*`)
	case q.Kind == "phrase":
		args = append(args, strings.Join(q.Words, `\W+`))
	case len(q.Words) > 1:
		return answer{}, errNotAsked // several words of one file, on any lines
	default:
		args = append(args, q.Words[0])
	}
	began := time.Now()
	out, err := exec.CommandContext(ctx, program, append(args, dir)...).Output()
	elapsed := time.Since(began)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // nothing is found
		err = nil
	}
	return answer{elapsed, bytes.Count(out, []byte("\n"))}, err
}
