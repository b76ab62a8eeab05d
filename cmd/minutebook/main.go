// Command minutebook keeps recorded meetings on one's own disk: it receives,
// fetches, stores, indexes and shows them. `minutebook help` lists the
// commands; `minutebook demo` shows it all without an account.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	_ "time/tzdata" // the image, and a small system, have no files of time zones
	"unicode"

	"minutebook/internal/phrase"
)

// version is set when the program is built (see Makefile).
var version = "unknown"

func main() {
	tieLibraries()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process, should it hang, as when it opens a pipe without a writer
	m := &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Version: version,
	}
	if m.isTerminal(os.Stdout) {
		m.Stdout = plainWriter{os.Stdout}
	}
	if m.isTerminal(os.Stderr) {
		m.Stderr = plainWriter{os.Stderr}
	}
	code := m.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// plainWriter is a terminal that shows control characters instead of obeying them. Titles
// and talks are other people's words, and could otherwise clear the screen, write over
// other lines or set the clipboard.
type plainWriter struct{ file *os.File }

// Write implements [io.Writer].
func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := w.file.WriteString(withoutControls(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Fd returns the number of the terminal.
func (w plainWriter) Fd() uintptr { return w.file.Fd() }

// output is standard output, and remembers the first failure of a write: a command whose output is
// lost, as on a full disk, has not succeeded. A key that it has made is shown nowhere else.
type output struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) { return o.remember(o.Writer.Write(p)) }

func (o *output) remember(n int, err error) (int, error) {
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// rawOutput is the stream below an output, which remembers its failures too.
type rawOutput struct{ *output }

// Write implements [io.Writer].
func (o rawOutput) Write(p []byte) (int, error) { return o.remember(rawStream(o.Writer).Write(p)) }

// rawStream returns the stream below a plainWriter, for output that has no words of
// others and moves the cursor.
func rawStream(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return rawOutput{o}
	}
	if plain, ok := w.(plainWriter); ok {
		return plain.file
	}
	return w
}

// descriptor returns the number of the file below a stream, if there is one.
func descriptor(stream any) (fd int, ok bool) {
	if o, ok := stream.(*output); ok {
		stream = o.Writer
	}
	file, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(file.Fd()), true
}

// bold are the sequences by which a hit is shown in bold.
var bold = regexp.MustCompile("\x1b\\[[01]m")

// withoutControls replaces control characters but for line ends, tabs and the bold of hits,
// and those that turn the direction of the text after them.
func withoutControls(text string) string {
	var b strings.Builder
	for {
		at := bold.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(strings.Map(showControl, text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
	return b.String() + strings.Map(showControl, text)
}

func showControl(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' || phrase.TurnsText(r) {
		return unicode.ReplacementChar
	}
	return r
}
