package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrNotGlobal is wrapped in the error of a request whose address resolves to
// one that is not globally routable.
var ErrNotGlobal = errors.New("the address is not globally routable")

// Options say how the clients of this package behave.
type Options struct {
	AllowPrivate   bool          // loopback, private and reserved addresses may be dialled too
	Timeout        time.Duration // of a whole request with its body; 0 means none but the context's
	MaxIdlePerHost int           // connections kept for reuse per host; default 2
	FreshConns     bool          // no connection is reused: each request resolves the name and checks the certificate
}

// NewClient returns a client that dials only the addresses that opts allow and
// returns redirects instead of following them.
func NewClient(opts Options) *http.Client {
	return &http.Client{
		Transport: NewTransport(opts),
		Timeout:   opts.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// NewTransport returns the transport of NewClient, for callers that follow
// redirects by rules of their own: the check is made on every dialling.
func NewTransport(opts Options) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if !opts.AllowPrivate {
		dialer.ControlContext = refuseNonGlobal
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		DisableKeepAlives:      opts.FreshConns,
		MaxIdleConnsPerHost:    opts.MaxIdlePerHost,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// refuseNonGlobal runs before each connection, with the resolved address.
func refuseNonGlobal(_ context.Context, network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", network, ErrNotGlobal)
	}
	if !isGlobal(ap.Addr()) {
		return fmt.Errorf("dial %s: %w", ap.Addr(), ErrNotGlobal)
	}
	return nil
}
