package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
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
	profile string
	only    string
	rate    float64
	memory  int64
}

func main() {
	var s settings
	serve := flag.String("serve", "", "run a server: bound, append, sqlite, store, found or busy")
	flag.IntVar(&s.senders, "senders", 64, "connections that send at a time")
	flag.IntVar(&s.size, "size", 50_000, "bytes of a delivery")
	flag.DurationVar(&s.seconds, "time", 4*time.Second, "of one measurement")
	flag.IntVar(&s.rounds, "rounds", 3, "of the receiver and its peers in turn")
	flag.IntVar(&s.slow, "slow", 1000, "slow connections")
	flag.StringVar(&s.profile, "profile", "", "write the storing server's processor profile here")
	flag.StringVar(&s.only, "only", "", "measure only these, with commas between: full, half, busy, found, refused, slow")
	flag.Float64Var(&s.rate, "rate", 0, "deliveries a second for half and busy (default: half of what full reached)")
	flag.Int64Var(&s.memory, "memory", 144, "process.memory_limit_bytes of the servers, in MiB; 0: none")
	flag.StringVar(&s.dir, "dir", "", "where data directories are made and removed (default: the system's)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serve != "" {
		err = withProfile(s.profile, func() error { return serveMode(ctx, *serve, flag.Arg(0), s.memory) })
	} else {
		err = measure(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/receiver:", err)
		os.Exit(1)
	}
}

// withProfile runs fn and writes a processor profile of it, unless file is empty.
func withProfile(file string, fn func() error) error {
	if file == "" {
		return fn()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

// measure runs every scenario, or those named, and prints a line for each
// figure.
func measure(ctx context.Context, s settings) error {
	wanted := func(name string) bool { return s.only == "" || slices.Contains(strings.Split(s.only, ","), name) }
	if wanted("full") {
		m, err := throughput(ctx, s)
		if err != nil {
			return err
		}
		fmt.Printf("acknowledged/s        %8.0f  of %8.0f without storing: ratio %.2f (at least 0.60)\n", m["store"], m["bound"], m["store"]/m["bound"])
		fmt.Printf("  %8.0f/s with append and fsync: ratio %.2f; %8.0f/s with a bare SQLite row: ratio %.2f\n",
			m["append"], m["store"]/m["append"], m["sqlite"], m["store"]/m["sqlite"])
		if s.rate == 0 {
			s.rate = m["store"] / 2
		}
	}
	for _, mode := range []string{"store", "busy"} {
		if name := strings.Replace(mode, "store", "half", 1); !wanted(name) {
			continue
		}
		if s.rate == 0 {
			return errors.New("half of what load? measure full too, or give -rate")
		}
		if err := halfLoad(ctx, s, mode, s.rate); err != nil {
			return err
		}
	}
	if wanted("found") {
		if err := runFound(ctx, s); err != nil {
			return err
		}
	}
	if wanted("refused") {
		if err := refused(ctx, s); err != nil {
			return err
		}
	}
	if wanted("slow") {
		return slowConnections(ctx, s)
	}
	return nil
}
