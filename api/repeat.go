package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
)

var errRepeated = errors.New("the connection broke before the answer")

// withoutRepeats returns a context in which net/http sends a request only once. By
// itself, net/http sends a GET again when a kept-alive connection breaks before the
// answer, and the service may count both. With this context the call ends instead,
// and its repetition waits for a slot of its own. A request that was never written
// may still go to another connection, and HTTP/2 repeats only requests that the
// service reports as unprocessed.
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

// onceKey is the key of a context whose calls are not repeated.
type onceKey struct{}

// WithoutRepetition returns a context whose calls fail at their first failure, for a
// person who waits for the result. Calls still wait for the budget.
func WithoutRepetition(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, true)
}

func isOnce(ctx context.Context) bool { return ctx.Value(onceKey{}) != nil }
