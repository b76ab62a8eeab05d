package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// refused compares how long it takes to be refused: with a wrong signature for
// an account that is there, and for one that is not. Nothing may be learnt from
// the difference.
func refused(ctx context.Context, s settings) (err error) {
	v, err := startServer(ctx, s, "store")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	deliveries, err := newStock(1, s.size)
	if err != nil {
		return err
	}
	right, _ := deliveries.take()
	wrong := [2][]byte{[]byte(strings.Replace(string(right[0]), "Webhook-Id: ", "Webhook-Id: other", 1)), right[1]}
	unknown := [2][]byte{[]byte(strings.Replace(string(wrong[0]), "/webhooks/bench", "/webhooks/bensh", 1)), right[1]}
	var existing, unknownSender run
	for start := time.Now(); time.Since(start) < s.seconds && ctx.Err() == nil; {
		for _, attempt := range []struct {
			request [2][]byte
			run     *run
		}{{wrong, &existing}, {unknown, &unknownSender}} {
			elapsed, err := untilRefused(v.addr, attempt.request)
			if err != nil {
				return err
			}
			attempt.run.latencies = append(attempt.run.latencies, elapsed)
		}
	}
	a, b := ms(existing.quantile(0.5)), ms(unknownSender.quantile(0.5))
	fmt.Printf("%-24s known account %.3f ms, unknown %.3f ms: ratio %.3f (1 is best) of %d each\n", "refused, in the median", a, b, b/a, len(existing.latencies))
	return ctx.Err()
}

// untilRefused sends one request on a connection of its own, which is closed
// with the answer.
func untilRefused(addr string, request [2][]byte) (time.Duration, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	start := time.Now()
	status, err := exchange(c, bufio.NewReader(c), request)
	if err == nil && status != http.StatusUnauthorized {
		err = fmt.Errorf("a wrong signature was answered %d", status)
	}
	return time.Since(start), err
}
