package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// dialer dials an address.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// overTLS returns a dialer whose connections begin with TLS to a host.
func overTLS(dial dialer, host string) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := tls.Client(raw, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
		if err := c.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		return c, nil
	}
}

// maxAnswers is the size of all answers of a mail server to one message.
const maxAnswers = 1 << 20

// closedWith returns a dialer whose connections are closed when a context ends: the
// library itself obeys the context only until the server is reached. Nothing is read
// beyond maxAnswers.
func closedWith(lifetime context.Context, dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(lifetime, func() { c.Close() })
		return &boundedConn{c, maxAnswers}, nil
	}
}

// boundedConn is a connection from which only so many bytes can be read.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements [net.Conn].
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("its answer is too long")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
