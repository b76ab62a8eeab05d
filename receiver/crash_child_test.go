package receiver

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/search"
	syncer "minutebook/sync"
)

const crashDir = "MINUTEBOOK_TEST_CRASH_DIR"

// childDir reports whether this process is the daemon of a crash test, and where
// its data directory is.
func childDir() (string, bool) { return os.LookupEnv(crashDir) }

// childMain receives, applies and indexes until it is killed. The address is
// the first line it prints.
func childMain(dir string) {
	if err := runChild(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func runChild(ctx context.Context, dir string) error {
	p, err := openParts(ctx, dir)
	if err != nil {
		return err
	}
	r, err := New(Options{Inbox: p.archive.Inbox(), Accounts: map[string][]string{"anna": {secretA}}, KeepBodies: time.Nanosecond})
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
	g.Go(func() error { return p.run(ctx) })
	return g.Wait()
}

// parts are the rooms that take deliveries from the inbox to the index.
type parts struct {
	archive *archive.Archive
	syncer  *syncer.Syncer
	index   *search.Index
}

func openParts(ctx context.Context, dir string) (*parts, error) {
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	p := &parts{archive: a}
	if p.syncer, err = syncer.New(syncer.Options{Archive: a, Logger: zerolog.Nop()}); err != nil {
		return nil, err
	}
	p.index, err = search.Open(ctx, search.Options{Archive: a, Logger: zerolog.Nop()})
	return p, err
}

func (p *parts) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.syncer.Run(ctx) })
	g.Go(func() error { return p.index.Follow(ctx) })
	return g.Wait()
}

// settled runs the parts in this process until nothing waits any more, hands
// them to check, and closes them.
func settled(t *testing.T, dir string, check func(*parts)) {
	t.Helper()
	p, err := openParts(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	p.wait(t)
	check(p)
	cancel()
	<-done
	if err := p.index.Close(); err != nil {
		t.Error(err)
	}
	if err := p.archive.Close(); err != nil {
		t.Error(err)
	}
}

// wait waits until nothing is to be applied or indexed any more. An index may
// have to be built anew, which takes as long as the archive is large.
func (p *parts) wait(t *testing.T) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		n, err := p.archive.Inbox().PendingCount(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		head, err := p.archive.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := p.index.Progress()
		if n == 0 && at.Position == head && !at.Rebuilding && at.Indexed == at.Total {
			return
		}
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("%d deliveries wait, the archive is at %+v and the index at %+v", n, head, at)
		}
	}
}
