package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A run holds the senders' counts.
type run struct {
	mu        sync.Mutex
	latencies []time.Duration
	elapsed   time.Duration
}

func (r *run) perSecond() float64 { return float64(len(r.latencies)) / r.elapsed.Seconds() }

// quantile is the time within which a share of the answers came.
func (r *run) quantile(q float64) time.Duration {
	slices.Sort(r.latencies)
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(len(r.latencies)-1, int(q*float64(len(r.latencies))))]
}

// sendAll sends from many connections until the time is over or the stock is
// empty. With a rate, requests are due at their times, and an answer's time
// counts from then: a sender that is held up does not hide it.
func sendAll(ctx context.Context, addr string, s *deliverySet, senders int, rate float64, d time.Duration) (*run, error) {
	r := &run{}
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for k := range senders {
		g.Go(func() error {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				return err
			}
			defer c.Close()
			return r.sendOn(ctx, c, s, start, d, k, senders, rate)
		})
	}
	err := g.Wait()
	r.elapsed = time.Since(start)
	return r, err
}

func (r *run) sendOn(ctx context.Context, c net.Conn, s *deliverySet, start time.Time, d time.Duration, k, senders int, rate float64) error {
	in := bufio.NewReader(c)
	var elapsed []time.Duration
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.latencies = append(r.latencies, elapsed...)
	}()
	for n := 0; ctx.Err() == nil && time.Since(start) < d; n++ {
		due := time.Now()
		if rate > 0 {
			due = start.Add(time.Duration(float64(n*senders+k) / rate * float64(time.Second)))
			if due.Sub(start) > d {
				return nil
			}
			time.Sleep(time.Until(due))
		}
		request, ok := s.take()
		if !ok {
			return nil
		}
		status, err := exchange(c, in, request)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("a right delivery was answered %d", status)
		}
		elapsed = append(elapsed, time.Since(due))
	}
	return nil
}

func exchange(c net.Conn, in *bufio.Reader, request [2][]byte) (int, error) {
	buffers := net.Buffers{request[0], request[1]}
	if _, err := buffers.WriteTo(c); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
