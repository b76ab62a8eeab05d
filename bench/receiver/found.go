package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/receiver"
	"minutebook/search"
	syncer "minutebook/sync"
)

const foundRate = 10 // deliveries a second

// findable adds to a server the rooms that bring a delivery into the index, and an
// address beside the receiver's that says whether a word is found.
func findable(ctx context.Context, a *archive.Archive, dir string, o *receiver.Options) ([]func(context.Context) error, error) {
	x, err := search.Open(ctx, search.Options{Archive: a, Dir: filepath.Join(dir, "index"), Logger: zerolog.Nop(), Busy: a.Inbox().Busy})
	if err != nil {
		return nil, err
	}
	s, err := syncer.New(syncer.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	o.Handlers = map[string]http.Handler{"/found": http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer, err := x.Search(q.Context(), search.Request{Query: q.FormValue("q"), Viewer: archive.Viewer{All: true}})
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case answer.Total == 0:
			http.NotFound(w, q)
		}
	})}
	follow := func(ctx context.Context) error { return errors.Join(x.Follow(ctx), x.Close()) }
	return []func(context.Context) error{s.Run, follow}, nil
}

// runFound measures the time from an acknowledgement until a search finds a word
// that only this delivery has.
func runFound(ctx context.Context, s settings) (err error) {
	v, err := startServer(ctx, s, "found")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	n := int(foundRate * 3 * s.seconds.Seconds())
	const first = 2_000_000
	var bodies [][]byte
	for k := range n {
		bodies = append(bodies, meetingJSON(int64(first+k), s.size))
	}
	deliveries, err := stockOf(n, bodies)
	if err != nil {
		return err
	}
	r := &run{}
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for k := range n {
		g.Go(func() error {
			time.Sleep(time.Until(start.Add(time.Duration(k) * time.Second / foundRate)))
			elapsed, err := untilFound(ctx, v.addr, deliveries.requests[k], wordOf(int64(first+k)))
			r.mu.Lock()
			defer r.mu.Unlock()
			r.latencies = append(r.latencies, elapsed)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	fmt.Printf("%-24s %5d/s  p50 %6.1f ms  p99 %6.1f ms (under 1000)  memory %4.0f MB (under 256)\n", "acknowledged to found", foundRate,
		ms(r.quantile(0.5)), ms(r.quantile(0.99)), v.peak())
	return nil
}

// untilFound sends one delivery and asks for its word every 10 ms.
func untilFound(ctx context.Context, addr string, request [2][]byte, word string) (time.Duration, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	if status, err := exchange(c, in, request); err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("a right delivery was answered %d: %w", status, err)
	}
	acknowledged := time.Now()
	ask := [2][]byte{[]byte("GET /found?q=" + word + " HTTP/1.1\r\nHost: bench\r\n\r\n")}
	for ctx.Err() == nil {
		switch status, err := exchange(c, in, ask); {
		case err != nil:
			return 0, err
		case status == http.StatusOK:
			return time.Since(acknowledged), nil
		case status != http.StatusNotFound || time.Since(acknowledged) > time.Minute:
			return 0, fmt.Errorf("searching %s: status %d after %v", word, status, time.Since(acknowledged))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, ctx.Err()
}
