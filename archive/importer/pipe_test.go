package importer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestImportsOfPipesAreInterrupted imports a pipe that nobody writes to, one whose writer is
// silent, with and without a part of a document, and a device that never ends.
func TestImportsOfPipesAreInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.json")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	a := archivetest.New(t)
	for name, begin := range map[string]string{"nobody": "", "silent": "x", "line": `{"recording_id":1}` + "\n" + `{"rec`, "document": "[\n" + `{"recording_id":2},`, "device": ""} {
		path := pipe
		if name == "device" {
			path = "/dev/zero"
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := ReadPath(ctx, a, Options{}, path)
			done <- err
		}()
		if begin != "" {
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err == nil {
				_, err = w.WriteString(begin)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
		}
		time.Sleep(10 * time.Millisecond)
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s: it is not interrupted", name)
		}
	}
}

// spaces has no end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestDocumentsAreBounded reads an object over several lines that does not end: memory ends
// earlier.
func TestDocumentsAreBounded(t *testing.T) {
	testrun.SkipUnderRace(t)
	var wrong []error
	read := int64(0)
	endless := io.MultiReader(strings.NewReader("[\n{\"recording_id\":1},\n{\n"), io.TeeReader(io.LimitReader(spaces{}, 2*maxLine), counter{&read}))
	err := eachObject(endless, func(_ int, _ []byte, err error) error {
		if err != nil {
			wrong = append(wrong, err)
		}
		return nil
	})
	if err != nil || len(wrong) != 1 || !errors.Is(wrong[0], errLongLine) || read > maxLine+maxLine/2 {
		t.Errorf("%v, %v after %d bytes", err, wrong, read)
	}
}

type counter struct{ n *int64 }

func (c counter) Write(p []byte) (int, error) {
	*c.n += int64(len(p))
	return len(p), nil
}
