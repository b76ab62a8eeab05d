package notify

import (
	"context"
	"crypto/tls"
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
