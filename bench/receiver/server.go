package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/internal/process"
	"minutebook/receiver"
	"minutebook/search"
	syncer "minutebook/sync"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// serveMode is the child process: a receiver on a port of its own, whose
// address is the first line it prints.
func serveMode(ctx context.Context, mode, dir string, memory int64) error {
	process.Tune(0, memory<<20)
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer a.Close()
	store, err := receivingStore(ctx, mode, dir, a.Inbox())
	if err != nil {
		return err
	}
	o := receiver.Options{Inbox: store, Accounts: map[string][]string{"bench": {secret}}, Logger: zerolog.New(os.Stderr)}
	var background []func(context.Context) error
	if mode == "found" {
		if background, err = findable(ctx, a, dir, &o); err != nil {
			return err
		}
	}
	r, err := receiver.New(o)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.Serve(ctx, ln) })
	for _, run := range background {
		g.Go(func() error { return run(ctx) })
	}
	if mode == "busy" {
		y, err := syncer.New(syncer.Options{Archive: a, Logger: zerolog.Nop()})
		if err != nil {
			return err
		}
		g.Go(func() error { return y.Run(ctx) })
		g.Go(func() error { return backfill(ctx, a) })
		g.Go(func() error { return rebuild(ctx, a, dir) })
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// backfill applies new meetings, one batch of ten after the other.
func backfill(ctx context.Context, a *archive.Archive) error {
	for id := int64(1); ctx.Err() == nil; {
		var batch []archive.Observation
		for range 10 {
			o, err := archive.FromMeeting("bench", archive.SourceList, time.Now(), meetingJSON(id, 50_000))
			if err != nil {
				return err
			}
			batch = append(batch, o)
			id++
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return err
		}
		select { // the service's limits let ten through in a second
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// rebuild makes the index anew, over and over.
func rebuild(ctx context.Context, a *archive.Archive, dir string) error {
	for n := 0; ctx.Err() == nil; n++ {
		index := filepath.Join(dir, fmt.Sprint("rebuilt-", n))
		x, err := search.Open(ctx, search.Options{Archive: a, Dir: index, Logger: zerolog.Nop(), Busy: a.Inbox().Busy})
		if err != nil {
			return err
		}
		err = x.CatchUp(ctx)
		if err = errors.Join(err, x.Close(), os.RemoveAll(index)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// A server is a child process.
type server struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

func startServer(ctx context.Context, s settings, mode string) (*server, error) {
	dir, err := os.MkdirTemp(s.dir, "bench-receiver-")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-memory", strconv.FormatInt(s.memory, 10), "-serve", mode, dir}
	if s.profile != "" && (mode == "store" || mode == s.only) {
		args = append([]string{"-profile", s.profile}, args...)
	}
	v := &server{dir: dir, cmd: exec.CommandContext(ctx, self, args...)}
	v.cmd.Stderr = os.Stderr
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), v.stop())
	}
	v.addr = strings.TrimSpace(line)
	return v, nil
}

func (v *server) stop() error {
	v.cmd.Process.Signal(os.Interrupt)
	return errors.Join(v.cmd.Wait(), os.RemoveAll(v.dir))
}

// peak is the most memory in MB that the process has had (VmHWM).
func (v *server) peak() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// cpu is the processor time that the process has used.
func (v *server) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks int64
	if fields := strings.Fields(rest); len(fields) > 12 {
		for _, f := range fields[11:13] { // user and system, in hundredths of a second
			n, _ := strconv.ParseInt(f, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
