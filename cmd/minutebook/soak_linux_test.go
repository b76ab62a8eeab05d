package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/control"
)

// gauge is something that has to level off while the program runs, and its values.
type gauge struct {
	name  string
	slack float64 // by which it may rise, beside a third
	all   []float64
}

// TestSoak is `make soak`: everything at once for the time MINUTEBOOK_SOAK, at two
// deliveries a second, which is more than twice the load of a thousand people. It reads
// memory, descriptors, goroutines and sizes once a minute, or sixty times in a shorter
// run, writes a table and a plot into MINUTEBOOK_SOAK_OUT, and fails where they rise on.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("MINUTEBOOK_SOAK"))
	if err != nil {
		t.Skip("only by make soak: MINUTEBOOK_SOAK is its length")
	}
	service, key := sandbox(t, t.TempDir())
	l := newLoad(newServed(t, service.url+"/external/v1", key), t.TempDir())
	l.senders, l.every, l.pause = 1, 500*time.Millisecond, time.Second
	p := start(t, "serve", "-c", l.config)
	l.cmd = p.cmd
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); l.run(ctx) }()
	gauges := []*gauge{{name: "memory of its own, MB", slack: 20}, {name: "heap in use, MB", slack: 20}, {name: "goroutines", slack: 10},
		{name: "descriptors", slack: 15}, {name: "logs of databases, MB", slack: 5}, {name: "index, kB a meeting", slack: 2},
		{name: "archive, kB a meeting", slack: 2}}
	for tick := time.NewTicker(min(time.Minute, length/60)); ctx.Err() == nil; {
		select {
		case <-tick.C:
			for i, v := range l.measure(t, p) {
				gauges[i].all = append(gauges[i].all, v)
			}
		case <-ctx.Done():
			tick.Stop()
		}
	}
	<-ended
	t.Logf("%d deliveries acknowledged, commands that ended well %v, the others' last failures %v", len(l.acked), l.done, l.failed)
	writeSoak(t, os.Getenv("MINUTEBOOK_SOAK_OUT"), length, gauges)
	for _, g := range gauges {
		if !isLevel(g.all, g.slack) {
			t.Errorf("%s do not level off: %.1f", g.name, g.all)
		}
	}
	l.checkKept(t)
	p.stop()
}

// measure reads all gauges, in their order.
func (l *load) measure(t *testing.T, p *program) []float64 {
	t.Helper()
	const mega = 1 << 20
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	descriptors, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	metrics := get(t, p.url+"/metrics")
	goroutines := metric(t, metrics, "go_goroutines")
	for range 9 { // on a single processor those that database/sql starts for a query wait together to end
		goroutines = min(goroutines, metric(t, get(t, p.url+"/metrics"), "go_goroutines"))
	}
	data := filepath.Join(filepath.Dir(l.config), "data")
	meetings := float64(max(1, runJSON[control.StatusResult](t, "status", "-c", l.config).Meetings))
	return []float64{
		readField(t, proc+"/status", "RssAnon:") / 1024, metric(t, metrics, "go_memstats_heap_inuse_bytes") / mega,
		goroutines, float64(len(descriptors)),
		bytesOf(data, func(path string) bool { return strings.HasSuffix(path, "-wal") }) / mega,
		bytesOf(data, isIndex) / 1024 / meetings,
		bytesOf(data, func(path string) bool { return strings.HasSuffix(path, ".db") && !isIndex(path) }) / 1024 / meetings,
	}
}

func isIndex(path string) bool { return strings.Contains(path, "/index/") }

// bytesOf adds up the sizes of the files below a directory that want accepts.
func bytesOf(dir string, want func(path string) bool) (sum float64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !want(path) {
			return nil // it was removed meanwhile
		}
		if info, err := d.Info(); err == nil {
			sum += float64(info.Size())
		}
		return nil
	})
	return sum
}

// readField reads the number behind a word of a file.
func readField(t *testing.T, path, word string) float64 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return metric(t, string(raw), word)
}

// metric returns the number in the line that begins with a word.
func metric(t *testing.T, text, word string) float64 {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == word {
			v, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no %s", word)
	return 0
}
