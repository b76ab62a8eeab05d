package importer

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"minutebook/internal/seal"
)

// openPipe opens a pipe or a device. It waits for the pipe's writer until ctx ends.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		*os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(path)
		if ctx.Err() != nil {
			err, f = errors.Join(ctx.Err(), err, closeFile(f)), nil
		}
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.File, o.err
	case <-ctx.Done():
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		// A writer that comes and goes ends the wait of the goroutine.
		if w, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			return nil, errors.Join(ctx.Err(), w.Close())
		}
	}
	return nil, ctx.Err()
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// readUntil returns a reader of a file that fails once ctx ends, also while it waits for the
// writer of a pipe, and a function that releases it.
func readUntil(ctx context.Context, f *os.File) (r io.Reader, release func() bool) {
	return seal.ContextReader(ctx, f), context.AfterFunc(ctx, func() {
		_ = f.SetReadDeadline(time.Unix(1, 0)) // fails for a file, whose reading does not wait
	})
}
