package receiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/internal/httpserver"
)

// stopTime is the longest time for which Serve waits at its end for requests under way.
const stopTime = 15 * time.Second

// Serve accepts deliveries from ln until ctx ends. Then it closes ln, answers the accepted
// deliveries, and returns nil. It returns an error when it cannot go on.
func (r *Receiver) Serve(ctx context.Context, ln net.Listener) error {
	srv := r.newServer()
	if r.o.TLSCert != "" {
		c, err := httpserver.TLSConfig(r.o.TLSCert, r.o.TLSKey, r.log)
		if err != nil {
			return errors.Join(fmt.Errorf("serve webhooks: %w", err), ln.Close())
		}
		srv.TLSConfig = c
	}
	if err := r.Refresh(ctx); ctx.Err() != nil {
		return ln.Close()
	} else if err != nil {
		return errors.Join(err, ln.Close())
	}
	bounds := httpserver.Bounds{PerAddr: r.o.MaxConnsPerAddr, Trusted: r.o.TrustedProxies, Judged: true}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := httpserver.Serve(gctx, srv, ln, bounds, stopTime); err != nil {
			return fmt.Errorf("serve webhooks: %w", err)
		}
		return nil
	})
	if r.o.KeepBodies > 0 {
		group.Go(func() error {
			if err := r.inbox.RunBodyRetention(gctx, r.o.KeepBodies); gctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *Receiver) newServer() *http.Server {
	srv := httpserver.New(r.Handler(), httpserver.Times{
		Header: r.o.HeaderTime, Body: r.o.BodyTime, Answer: r.o.AnswerTime, Idle: r.o.IdleTime}, r.log)
	srv.MaxHeaderBytes = 32 << 10
	srv.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams:          64,
		MaxReceiveBufferPerConnection: 256 << 10,
		MaxReceiveBufferPerStream:     64 << 10,
	}
	return srv
}
