package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/search"
)

// startIdle runs this program anew, so that nothing is warm but the files.
func startIdle(ctx context.Context, o options) error {
	cmd := exec.CommandContext(ctx, os.Args[0], "-idle", "-data", o.data)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// idle tells how long it takes from the start to the first answer, and how much
// memory of its own the process has then, and after it has done nothing.
func idle(ctx context.Context, o options) error {
	begin := time.Now()
	a, err := archive.Open(ctx, archive.Options{Dir: o.data, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer a.Close()
	archived := time.Since(begin)
	before := memory("smaps_rollup", "Private_Dirty:")
	x, err := search.Open(ctx, search.Options{Archive: a, Logger: logger()})
	if err != nil {
		return err
	}
	defer x.Close()
	opened := time.Since(begin)
	answer, err := x.Search(ctx, search.Request{Query: "project meeting", Viewer: everyone, Facets: true, Histogram: true})
	if err != nil {
		return err
	}
	elapsed := time.Since(begin)
	after := memory("smaps_rollup", "Private_Dirty:")
	debug.FreeOSMemory()
	fmt.Printf("cold start: archive open after %v, index after %v, first answer (%d found) after %v\n", archived.Round(time.Millisecond), opened.Round(time.Millisecond), answer.Total, elapsed.Round(time.Millisecond))
	fmt.Printf("private memory: %s without an index, %s after the first answer, %s idle\n", before, after, memory("smaps_rollup", "Private_Dirty:"))
	return nil
}

// memory reads a figure that Linux gives of this process.
func memory(file, name string) string {
	raw, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(raw), name)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Join(strings.Fields(line), " ")
}

// sampled is the most memory that the process has while something is done: all
// that is resident, the mapped files of the index with it, and its own alone.
type sampled struct {
	stop chan struct{}
	done chan struct{}
	own  int64 // kB
}

func sampleMemory() *sampled {
	s := &sampled{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			var kb int64
			fmt.Sscan(memory("status", "RssAnon:"), &kb)
			s.own = max(s.own, kb)
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
		}
	}()
	return s
}

// end returns the figures.
func (s *sampled) end() string {
	close(s.stop)
	<-s.done
	return fmt.Sprintf("%d MB of its own, %s resident with the mapped files", s.own>>10, memory("status", "VmHWM:"))
}
