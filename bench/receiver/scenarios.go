package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// throughput measures the receiver and its peers in turn and returns the median of each.
func throughput(ctx context.Context, s settings) (map[string]float64, error) {
	rates, medians := map[string][]float64{}, map[string]float64{}
	for range s.rounds {
		for _, mode := range []string{"bound", "append", "sqlite", "store"} {
			rate, err := fullLoad(ctx, s, mode)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", mode, err)
			}
			rates[mode] = append(rates[mode], rate)
		}
	}
	for mode, v := range rates {
		slices.Sort(v)
		medians[mode] = v[len(v)/2]
	}
	return medians, nil
}

func fullLoad(ctx context.Context, s settings, mode string) (rate float64, err error) {
	v, err := startServer(ctx, s, mode)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	deliveries, err := newStock(int(15000*s.seconds.Seconds()), s.size)
	if err != nil {
		return 0, err
	}
	before := v.cpu()
	r, err := sendAll(ctx, v.addr, deliveries, s.senders, 0, s.seconds)
	if err != nil {
		return 0, err
	}
	each := float64(v.cpu()-before) / float64(max(1, len(r.latencies))) / float64(time.Microsecond)
	fmt.Printf("  %-6s %8.0f/s  p50 %6.1f ms  p99 %6.1f ms  memory %4.0f MB  server's processor time %3.0f us each\n", mode, r.perSecond(),
		ms(r.quantile(0.5)), ms(r.quantile(0.99)), v.peak(), each)
	return r.perSecond(), nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// halfLoad measures how long acknowledgements take at a rate.
func halfLoad(ctx context.Context, s settings, mode string, rate float64) (err error) {
	v, err := startServer(ctx, s, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	d := 2 * s.seconds
	deliveries, err := newStock(int(rate*d.Seconds()*1.1)+100, s.size)
	if err != nil {
		return err
	}
	r, err := sendAll(ctx, v.addr, deliveries, s.senders, rate, d)
	if err != nil {
		return err
	}
	label := "half load"
	if mode == "busy" {
		label = "  and backfill, rebuild"
	}
	fmt.Printf("%-24s %5.0f/s  p50 %6.1f ms  p99 %6.1f ms (under 100)  memory %4.0f MB (under 256)\n", label, r.perSecond(),
		ms(r.quantile(0.5)), ms(r.quantile(0.99)), v.peak())
	return nil
}

// slowConnections holds connections that send a byte every half second, and
// measures the rate of other senders meanwhile.
func slowConnections(ctx context.Context, s settings) (err error) {
	v, err := startServer(ctx, s, "store")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	deliveries, err := newStock(4000, s.size)
	if err != nil {
		return err
	}
	request, _ := deliveries.take()
	head := strings.Replace(string(request[0]), "Webhook-Id: ", "Webhook-Id: slow", 1)
	var slow []net.Conn
	for range s.slow {
		c, err := net.Dial("tcp", v.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte(head)); err != nil {
			return err
		}
		slow = append(slow, c)
	}
	dribble, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for dribble.Err() == nil {
			for _, c := range slow {
				c.Write([]byte("x"))
			}
			time.Sleep(500 * time.Millisecond)
		}
	}()
	r, err := sendAll(ctx, v.addr, deliveries, s.senders, 300, 2*s.seconds)
	if err != nil {
		return fmt.Errorf("beside %d slow connections: %w", s.slow, err)
	}
	fmt.Printf("%-24s %5.0f/s  p50 %6.1f ms  p99 %6.1f ms, none refused    memory %4.0f MB (under 256)\n",
		fmt.Sprintf("beside %d slow ones", s.slow), r.perSecond(), ms(r.quantile(0.5)), ms(r.quantile(0.99)), v.peak())
	return nil
}
