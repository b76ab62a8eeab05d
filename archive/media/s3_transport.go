package media

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	// stallTimeout is how long a server may neither send nor take a byte.
	stallTimeout = time.Minute
	// roleTimeout is how long the machine's role is asked for, where the environment
	// and the file have no credentials.
	roleTimeout = 5 * time.Second
	// maxTries is how often a call is made before its error is the result.
	maxTries = 3
)

// newStallTransport returns a transport whose connections fail when nothing moves on
// them for a time. A slow server is waited for, one that stalls is not.
func newStallTransport(stall time.Duration) http.RoundTripper {
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
		DisableCompression: true, // an object with Content-Encoding is kept as it is
	}
}

// stallConn is a connection on which something must move.
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
