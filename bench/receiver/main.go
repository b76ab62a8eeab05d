package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// settings are the flags.
type settings struct {
	senders int
	size    int
	seconds time.Duration
	rounds  int
	slow    int
	dir     string
}

func main() {
	var s settings
	serve := flag.String("serve", "", "run a server: bound, store or busy")
	flag.IntVar(&s.senders, "senders", 64, "connections that send at a time")
	flag.IntVar(&s.size, "size", 50_000, "bytes of a delivery")
	flag.DurationVar(&s.seconds, "time", 4*time.Second, "of one measurement")
	flag.IntVar(&s.rounds, "rounds", 3, "of bound and store in turn")
	flag.IntVar(&s.slow, "slow", 1000, "slow connections")
	flag.StringVar(&s.dir, "dir", "", "where data directories are made and removed (default: the system's)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serve != "" {
		err = serveMode(ctx, *serve, flag.Arg(0))
	} else {
		err = measure(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/receiver:", err)
		os.Exit(1)
	}
}

// measure runs every scenario and prints a line for each figure.
func measure(ctx context.Context, s settings) error {
	bound, store, err := throughput(ctx, s)
	if err != nil {
		return err
	}
	fmt.Printf("acknowledged/s        %8.0f  of %8.0f without storing: ratio %.2f (at least 0.60)\n", store, bound, store/bound)
	for _, mode := range []string{"store", "busy"} {
		if err := halfLoad(ctx, s, mode, store/2); err != nil {
			return err
		}
	}
	return slowConnections(ctx, s)
}
