package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// start is the cost of a start of the program.
type start struct {
	took, copying, migrating time.Duration
	memory                   int64 // bytes at most
}

// measureCopy measures how long other programs take to copy a file durably.
func measureCopy(ctx context.Context, from, to string) (took time.Duration, err error) {
	if err := forgetPages(ctx, from); err != nil {
		return 0, err
	}
	began := time.Now()
	for _, command := range [][]string{{"cp", from, to}, {"sync", to}} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
	}
	return time.Since(began), os.Remove(to)
}

// forgetPages has the system drop its cached pages of a file, so that it is read from the disk.
func forgetPages(ctx context.Context, path string) error {
	if out, err := exec.CommandContext(ctx, "sync", path).CombinedOutput(); err != nil {
		return fmt.Errorf("sync: %w: %s", err, out)
	}
	if out, err := exec.CommandContext(ctx, "dd", "if="+path, "iflag=nocache", "count=0").CombinedOutput(); err != nil {
		return fmt.Errorf("dd: %w: %s", err, out)
	}
	return nil
}

// measureStart has the program open a data directory and count its meetings.
func measureStart(ctx context.Context, program, data string) (s start, err error) {
	if err := forgetPages(ctx, data+"/archive.db"); err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, program, "stats", "--data", data)
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "MINUTEBOOK_") })
	cmd.Env = append(environ, "MINUTEBOOK_LOG_FORMAT=json")
	var log bytes.Buffer
	cmd.Stderr = &log
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%s stats: %w: %s", program, err, &log)
	}
	s.took = time.Since(began)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return s, errors.New("the system does not say how much memory the program took")
	}
	s.memory = int64(usage.Maxrss) << 10 // Linux counts in KiB
	for line := range bytes.Lines(log.Bytes()) {
		var event struct {
			Message string
			Took    float64 // ms
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return s, fmt.Errorf("read the log of the program: %w: %s", err, line)
		}
		took := time.Duration(event.Took * float64(time.Millisecond))
		switch {
		case strings.HasPrefix(event.Message, "copied"):
			s.copying += took
		case event.Message == "migrated":
			s.migrating += took
		}
	}
	return s, nil
}
