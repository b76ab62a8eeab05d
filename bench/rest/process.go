package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// child is a process of the program.
type child struct {
	cmd    *exec.Cmd
	output *bufio.Scanner
}

// start starts the program and waits for the first line of its output, its address.
func start(ctx context.Context, program string, args ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, program, args...)}
	// Settings of this program, and of Go for whoever measures (GOGC), are none of the daemon's.
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "MINUTEBOOK_") || strings.HasPrefix(pair, "GO")
	})
	c.cmd.Stderr, c.cmd.Env = os.Stderr, append(environ, "MINUTEBOOK_LOG_LEVEL=warn")
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s %s: %w", program, args[0], err)
	}
	c.output = bufio.NewScanner(out)
	if c.line() == "" {
		return nil, errors.Join(fmt.Errorf("start %s %s: it printed no address", program, args[0]), c.end())
	}
	return c, nil
}

// line returns the next line of the output.
func (c *child) line() string {
	c.output.Scan()
	return c.output.Text()
}

// end ends the process by Ctrl-C.
func (c *child) end() error {
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return c.cmd.Wait()
}

// use is the part of the machine that a process has.
type use struct {
	resident, own int64         // kB; own: without the mapped files
	processor     time.Duration // since the process began
}

// readUse reads the use of a process from Linux.
func readUse(pid int) (u use, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for name, value := range map[string]*int64{"VmRSS:": &u.resident, "RssAnon:": &u.own} {
		_, rest, _ := strings.Cut(string(status), name)
		if _, err := fmt.Sscan(rest, value); err != nil {
			return u, fmt.Errorf("read %s of the process: %w", name, err)
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from the third one on
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return u, fmt.Errorf("read the processor time of the process: %w", err)
	}
	const tick = time.Second / 100 // on all machines that Linux runs on here
	u.processor = time.Duration(user+system) * tick
	return u, nil
}

// measure prints the use of a process at several times, and between them its share of a core.
func measure(ctx context.Context, o options, pid int) error {
	fmt.Printf("| %d meetings, after the start | resident, MB | of it its own, MB | of a core since the line before, %% |\n| --- | --- | --- | --- |\n", o.meetings)
	began, before, last := time.Now(), use{}, time.Duration(0)
	for _, part := range []time.Duration{1, 5, 10, 15} {
		at := o.time * part / 15
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(at))):
		}
		u, err := readUse(pid)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %.2f |\n", at, u.resident>>10, u.own>>10, 100*float64(u.processor-before.processor)/float64(at-last))
		before, last = u, at
	}
	return nil
}
