package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed xapian.py
var xapianProgram string

// openXapian indexes the meetings with Xapian, in a process of Python that then answers.
// The times are taken there, around Xapian alone.
func openXapian(ctx context.Context, d *documents, dir string) (e engine, built builtIn, err error) {
	if exec.CommandContext(ctx, d.python, "-c", "import xapian").Run() != nil {
		return e, built, absentError{"Xapian"}
	}
	texts, path := filepath.Join(dir, "texts"), filepath.Join(dir, "xapian")
	if err := d.writeTexts(texts); err != nil {
		return e, built, err
	}
	program := exec.CommandContext(ctx, d.python, "-c", xapianProgram, texts, path)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		return e, built, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return e, built, err
	}
	if err := program.Start(); err != nil {
		return e, built, err
	}
	questions, lines := json.NewEncoder(in), bufio.NewScanner(out)
	read := func() (a answer, err error) {
		if !lines.Scan() {
			return a, errors.Join(errors.New("the process of Xapian has ended"), lines.Err())
		}
		var seconds float64
		_, err = fmt.Sscan(lines.Text(), &seconds, &a.found)
		a.elapsed = time.Duration(seconds * float64(time.Second))
		return a, err
	}
	e = engine{"Xapian", func(q query) (answer, error) {
		if err := questions.Encode(q); err != nil {
			return answer{}, err
		}
		return read()
	}, func() error { return errors.Join(in.Close(), program.Wait()) }}
	filled, err := read()
	if err != nil {
		return e, built, errors.Join(err, e.close())
	}
	built.elapsed = filled.elapsed
	built.size, err = sizeOf(path)
	return e, built, err
}

// writeTexts writes the texts as lines of JSON.
func (d *documents) writeTexts(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	err = d.each(func(_ int, text string) error { return lines.Encode(text) })
	return errors.Join(err, w.Flush(), f.Close())
}
