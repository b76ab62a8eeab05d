package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
)

var errRepeated = errors.New("the connection broke before the answer")

// withoutRepeats returns a context in which net/http sends a request only once.
// It sends a GET again by itself when a connection that was kept alive breaks
// before the answer, and the service may count both. Here the call ends instead;
// the repetition waits for a slot of its own. What was never written may be
// written to another connection, and HTTP/2 repeats only what the service has
// said that it did not look at.
func withoutRepeats(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wrote atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				wrote.Store(true)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			if secure, ok := info.Conn.(*tls.Conn); !wrote.Load() || ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
				return
			}
			cancel(errRepeated)
			_ = info.Conn.Close() // before anything is written to it
		},
	}), cancel
}
