package receiver

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Serve takes deliveries from ln until ctx ends, closes ln, answers what has
// been taken, and returns nil. It returns an error when it cannot go on.
func (r *Receiver) Serve(ctx context.Context, ln net.Listener) error {
	limited := bound(ln, r.o)
	srv := r.server()
	if r.o.TLSCert != "" {
		c, err := loadCertificate(r.o.TLSCert, r.o.TLSKey, r.log)
		if err != nil {
			return errors.Join(fmt.Errorf("serve webhooks: %w", err), ln.Close())
		}
		srv.TLSConfig = c.config()
	}
	if err := r.Refresh(ctx); ctx.Err() != nil {
		return ln.Close()
	} else if err != nil {
		return errors.Join(err, ln.Close())
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		var err error
		if srv.TLSConfig != nil {
			err = srv.ServeTLS(limited, "", "")
		} else {
			err = srv.Serve(limited)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve webhooks on %s: %w", ln.Addr(), err)
	})
	group.Go(func() error {
		<-gctx.Done()
		return r.stop(srv)
	})
	if r.o.KeepBodies > 0 {
		group.Go(func() error {
			if err := r.inbox.KeepBodies(gctx, r.o.KeepBodies); gctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *Receiver) server() *http.Server {
	return &http.Server{
		Handler:           r.Handler(),
		ReadHeaderTimeout: r.o.HeaderTime,
		IdleTimeout:       r.o.IdleTime,
		MaxHeaderBytes:    32 << 10,
		ConnContext:       withConn,
		ErrorLog:          stdlog.New(quietLog{r}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          64,
			MaxReceiveBufferPerConnection: 256 << 10,
			MaxReceiveBufferPerStream:     64 << 10,
		},
	}
}

// stop waits for what is under way, as long as StopTime.
func (r *Receiver) stop(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.o.StopTime)
	defer cancel()
	if srv.Shutdown(ctx) == nil {
		return nil
	}
	r.log.Warn().Dur("after", r.o.StopTime).Msg("connections were closed before their answer")
	srv.Close()
	return nil
}

// quietLog takes what net/http has to say about strangers' connections.
type quietLog struct{ r *Receiver }

func (q quietLog) Write(line []byte) (int, error) {
	q.r.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}
