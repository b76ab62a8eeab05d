// Package powercut shows which files a power cut leaves behind, for tests. A program runs
// beneath strace, which writes down its calls of the file system; a model of a disk then
// replays them up to any moment, and writes the files of a machine that lost its power
// there. It follows Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014):
//
//   - What was synced is there. A write that was not may be there, page by page and in any
//     order, and so may a change of a file's size.
//   - A name that was made, changed or removed is durable with the next sync of its
//     directory, a move with that of either directory, as on the file systems of Linux that
//     keep a journal. Until then a directory has the first few of its changes.
//
// Every page and every name that was not synced kept is a process that was killed there.
//
// Calls of C and of Go code are seen alike. Writes through mapped memory are not: SQLite
// maps nothing but the index of its log, which it makes anew.
package powercut

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// calls are those that change files, or say where the next write goes.
const calls = "openat,write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,fsync,fdatasync," +
	"rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,copy_file_range,sendfile,splice"

// longest is the number of bytes of the longest write that is recorded.
const longest = 16 << 20

// A Recorder records one process with its threads.
type Recorder struct {
	dir    string
	before string // a copy of dir
	trace  string
}

// NewRecorder prepares the recording of changes in a directory, whose present content counts
// as synced.
func NewRecorder(t testing.TB, dir string) *Recorder {
	t.Helper()
	top := t.TempDir()
	r := &Recorder{dir: dir, before: filepath.Join(top, "before"), trace: filepath.Join(top, "trace")}
	if err := os.CopyFS(r.before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return r
}

// Command is [exec.Command] of a program that is recorded: strace runs beside it, as its
// grandchild.
func (r *Recorder) Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	strace := testrun.Program(t, "strace")
	return exec.Command(strace, append([]string{"--daemonize", "--follow-forks", "--seccomp-bpf", "--decode-fds=path", "--absolute-timestamps=format:unix,precision:us",
		"--strings-in-hex=all", "--string-limit=" + strconv.Itoa(longest), "--trace=" + calls, "--output=" + r.trace, "--signal=none", name}, args...)...)
}

// An operation is a call.
type operation struct {
	call        string
	args        []string
	result      string
	began, done int // lines of the trace
}

// A Log holds the operations of a process in the order of their beginnings.
type Log struct {
	dir, before string
	operations  []operation
	times       []time.Time // of each line
}

// endTime is how long strace may take to write the rest after a process has ended.
const endTime = time.Minute

// Log reads the recording of a process that has ended, as soon as strace has written it.
func (r *Recorder) Log(ctx context.Context, process int) (*Log, error) {
	f, err := os.Open(r.trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := waitForEnd(ctx, f, process); err != nil {
		return nil, err
	}
	l := &Log{dir: r.dir, before: r.before}
	open := map[string]int{} // operations without an end, by thread
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := l.add(strings.TrimSuffix(line, "\n"), open); err != nil {
			return nil, fmt.Errorf("line %d of the trace, %.300s: %w", len(l.times), line, err)
		}
	}
	complete := l.operations[:0]
	for _, op := range l.operations {
		if op.done > 0 && !strings.HasPrefix(op.result, "-1") {
			complete = append(complete, op)
		}
	}
	l.operations = complete
	return l, nil
}

// waitForEnd waits for the line about the end of a process, which is the last one.
func waitForEnd(ctx context.Context, f *os.File, process int) error {
	end := make([]byte, 200)
	for {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		n, err := f.ReadAt(end, max(0, info.Size()-int64(len(end))))
		if err != nil && err != io.EOF {
			return err
		}
		last := end[:n]
		if at := bytes.LastIndexByte(bytes.TrimSuffix(last, []byte("\n")), '\n'); at >= 0 {
			last = last[at+1:]
		}
		if bytes.HasPrefix(last, fmt.Appendf(nil, "%d ", process)) && bytes.HasSuffix(last, []byte(" +++\n")) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of the recording: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

const unfinished = " <unfinished ...>"

// add reads a line: a thread, a time, and a call, its beginning or its end.
func (l *Log) add(line string, open map[string]int) error {
	thread, rest, _ := strings.Cut(line, " ")
	stamp, text, ok := strings.Cut(strings.TrimLeft(rest, " "), " ")
	seconds, micros, found := strings.Cut(stamp, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	if !ok || !found || err1 != nil || err2 != nil {
		return fmt.Errorf("there is no time")
	}
	here := len(l.times)
	l.times = append(l.times, time.Unix(s, us*1000))
	switch {
	case strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---"):
		return nil
	case strings.HasPrefix(text, "<... "):
		at, ok := open[thread]
		_, text, found := strings.Cut(text, " resumed>")
		if !ok || !found {
			return fmt.Errorf("a call ends that has not begun")
		}
		delete(open, thread)
		return l.operations[at].finish(text, here)
	}
	call, text, ok := strings.Cut(text, "(")
	if !ok {
		return fmt.Errorf("there is no call")
	}
	l.operations = append(l.operations, operation{call: call, began: here})
	op := &l.operations[len(l.operations)-1]
	if before, ok := strings.CutSuffix(text, unfinished); ok {
		op.args = []string{before}
		open[thread] = len(l.operations) - 1
		return nil
	}
	return op.finish(text, here)
}

// finish takes the rest of a call's text.
func (op *operation) finish(text string, line int) error {
	args, result, ok := cutLast(strings.Join(op.args, "")+text, ")")
	result, ok2 := strings.CutPrefix(strings.TrimLeft(result, " "), "= ")
	if !ok || !ok2 {
		return fmt.Errorf("there is no result")
	}
	op.args, op.result, op.done = strings.Split(args, ", "), result, line
	return nil
}

// cutLast cuts before a result such as "-1 ENOENT (No such file or directory)" too.
func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep+" ")
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// value is the result of a call as a number.
func (op *operation) value() (int64, error) {
	digits, _, _ := strings.Cut(op.result, "<")
	digits, _, _ = strings.Cut(digits, " ")
	return strconv.ParseInt(digits, 0, 64)
}

func (op *operation) number(i int) (int64, error) {
	if i >= len(op.args) {
		return 0, fmt.Errorf("%s has no argument %d", op.call, i)
	}
	return strconv.ParseInt(op.args[i], 0, 64)
}

// text is an argument that is a string.
func (op *operation) text(i int) (string, error) {
	if i >= len(op.args) || !strings.HasPrefix(op.args[i], `"`) || !strings.HasSuffix(op.args[i], `"`) {
		return "", fmt.Errorf("argument %d of %s is no whole string", i, op.call)
	}
	return unescape(strings.Trim(op.args[i], `"`))
}

// descriptor is an argument such as 14</data/archive.db>. A file that has no name any more
// has no path.
func (op *operation) descriptor(i int) (number, path string, err error) {
	if i >= len(op.args) {
		return "", "", fmt.Errorf("%s has no argument %d", op.call, i)
	}
	number, path, found := strings.Cut(op.args[i], "<")
	path, rest, closed := strings.Cut(path, ">")
	if !found || !closed || rest != "" {
		return number, "", nil
	}
	path, err = unescape(path)
	return number, path, err
}

// path is a path that is relative to the directory before it.
func (op *operation) path(i int) (string, error) {
	name, err := op.text(i)
	if err != nil || filepath.IsAbs(name) || i == 0 {
		return name, err
	}
	_, dir, err := op.descriptor(i - 1)
	return filepath.Join(dir, name), err
}

func unescape(text string) (string, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	return string(raw), err
}

// Len is the number of moments at which the power can be cut.
func (l *Log) Len() int { return len(l.times) }

// Time is the time of a moment.
func (l *Log) Time(moment int) time.Time {
	if moment == len(l.times) {
		return time.Now()
	}
	return l.times[moment]
}
