package bucket

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"minutebook/internal/outbound"
	"minutebook/internal/pause"
)

const (
	// abortTime is how long an upload that was stopped may take to end on the server too.
	abortTime = 3 * time.Second
	// stallTimeout is the longest time without a byte sent or received.
	stallTimeout = time.Minute
	// roleTimeout bounds the request for the machine's role, which is made when the
	// environment and the file have no credentials.
	roleTimeout = 5 * time.Second
	// maxTries is the number of attempts at a call before it fails.
	maxTries = 3
)

// patientTransport returns answers whose bodies do not drip for ever.
type patientTransport struct {
	http.RoundTripper
	patience outbound.Patience
}

// lastKey is the key of the context with which all requests of an upload end.
type lastKey struct{}

// boundUpload returns a context for an upload. The library ends an upload that failed on the
// server too, by a request that knows nothing of the end of ctx: it ends abortTime later.
func boundUpload(ctx context.Context) (_ context.Context, done func()) {
	last, end := pause.GraceFor(ctx, abortTime)
	return context.WithValue(ctx, lastKey{}, last), end
}

// RoundTrip is part of http.RoundTripper.
func (t patientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if last, ok := r.Context().Value(lastKey{}).(context.Context); ok {
		ctx, cancel := context.WithCancel(r.Context())
		context.AfterFunc(last, cancel)
		r = r.WithContext(ctx)
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodDelete && resp.StatusCode == http.StatusOK {
		// The library takes a page for a success, and an empty answer for an error.
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	if err == nil && !isAskedPart(r, resp) {
		resp.Body.Close()
		return nil, errOtherPart
	}
	if err == nil {
		resp.Body = t.patience.Body(resp.Body)
	}
	return resp, err
}

// isAskedPart reports whether an answer begins where the Range of its request does. The library
// takes the whole object, as a cache or a gateway without ranges sends it, for a part of it.
func isAskedPart(r *http.Request, resp *http.Response) bool {
	from, _, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
	switch {
	case !ok || from == "":
		return true
	case resp.StatusCode == http.StatusOK:
		return from == "0"
	case resp.StatusCode == http.StatusPartialContent:
		return strings.HasPrefix(resp.Header.Get("Content-Range"), "bytes "+from+"-")
	}
	return true // an error
}

// transport returns the transport of a line, with its patience.
func (l Line) transport() http.RoundTripper {
	if l.Transport == nil {
		l.Transport = newTransport(stallTimeout)
	}
	return patientTransport{l.Transport, l.Patience}
}

// newTransport returns a transport whose connections fail when no byte is sent or
// received for a time. It waits for a slow server, but not for one that stalls.
func newTransport(stall time.Duration) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stallConn{c, stall}, nil
		},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: stall, TLSHandshakeTimeout: 10 * time.Second,
		ExpectContinueTimeout: 10 * time.Second, ResponseHeaderTimeout: stall,
		DisableCompression: true, // an object with Content-Encoding stays encoded
	}
}

// stallConn is a connection that fails when it stalls.
type stallConn struct {
	net.Conn
	stall time.Duration
}

// Read also extends the time of a pending write.
func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the time of a pending read: the answer comes after the body.
func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
