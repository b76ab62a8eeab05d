package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// load has a daemon do everything at once: deliveries arrive, an account is read, people
// search, and backup, export, forget and reload run as commands.
type load struct {
	*served
	dir     string        // of backups and exports
	senders int           // that deliver without a pause, but for every
	every   time.Duration // between two deliveries of a sender
	pause   time.Duration // between two commands of a kind

	mu     sync.Mutex // guards the fields below
	next   int64
	acked  []int64
	forgot map[int64]bool // meetings that a command was begun to forget
	done   map[string]int // commands that ended well, by their name
	failed map[string]string
}

// firstDelivered is the least id of a meeting that is delivered.
const firstDelivered = 5_000_000

func newLoad(s *served, dir string) *load {
	return &load{served: s, dir: dir, next: firstDelivered, forgot: map[int64]bool{}, done: map[string]int{}, failed: map[string]string{}}
}

// run goes on until ctx ends, which kills the commands.
func (l *load) run(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.senders}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for range l.senders {
		wg.Go(func() { l.send(ctx, client) })
	}
	for _, next := range []func() []string{
		func() []string { return []string{"search", "said"} },
		func() []string { return []string{"search", fmt.Sprintf("zq%dqz", l.anyAcked())} },
		func() []string { return []string{"backup", "--keep", "2", l.backups()} },
		func() []string { return []string{"export", "--format", "ndjson", "--to", l.exports()} },
		func() []string { return []string{"forget", "--reason", "load", fmt.Sprint(l.forgetNext())} },
		func() []string { return l.changeConfig() },
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				if args := next(); len(args) > 0 {
					l.command(ctx, args...)
				}
				sleep(ctx, l.pause)
			}
		})
	}
	wg.Wait()
}

func (l *load) backups() string { return filepath.Join(l.dir, "backups") }
func (l *load) exports() string { return filepath.Join(l.dir, "export") }

// send delivers new meetings.
func (l *load) send(ctx context.Context, client *http.Client) {
	for ctx.Err() == nil {
		l.mu.Lock()
		l.next++
		id := l.next
		l.mu.Unlock()
		if l.deliver(client, id) {
			l.mu.Lock()
			l.acked = append(l.acked, id)
			l.mu.Unlock()
			sleep(ctx, l.every)
		} else {
			sleep(ctx, 100*time.Millisecond)
		}
	}
}

// command runs a command, which may fail while the daemon is being killed.
func (l *load) command(ctx context.Context, args ...string) (out []byte, ok bool) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "minutebook", append(args, "-c", l.config)...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if bytes.Contains(said.Bytes(), []byte("WARNING: DATA RACE")) {
		l.t.Errorf("%s: %s", args[0], &said)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.done[args[0]]++
	case ctx.Err() == nil:
		l.failed[args[0]] = fmt.Sprintf("%s: %v: %.300s", strings.Join(args, " "), err, &said)
	}
	return out, err == nil
}

// anyAcked is the id of a meeting that was acknowledged, if there is one.
func (l *load) anyAcked() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.acked) == 0 {
		return firstDelivered
	}
	return l.acked[rand.IntN(len(l.acked))]
}

// forgetNext draws a meeting to forget, perhaps again.
func (l *load) forgetNext() int64 {
	id := l.anyAcked()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgot[id] = true
	return id
}

// changeConfig writes the configuration with another schedule, and asks the daemon to
// load it, by a signal or a command.
func (l *load) changeConfig() []string {
	raw, err := os.ReadFile(l.config)
	if err != nil {
		l.t.Error(err)
		return nil
	}
	text, _, _ := strings.Cut(string(raw), "\n[sync]")
	text += fmt.Sprintf("\n[sync]\nwalk = \"%d 2 * * *\"\n", rand.IntN(60))
	next := l.config + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		l.t.Error(err)
	}
	if err := os.Rename(next, l.config); err != nil {
		l.t.Error(err)
	}
	if rand.IntN(2) == 0 {
		_ = l.cmd.Process.Signal(syscall.SIGHUP) // it may have ended
		return nil
	}
	return []string{"reload"}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
