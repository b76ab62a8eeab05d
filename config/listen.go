package config

import (
	"fmt"
	"net"
)

// SplitListen splits an address to listen on, such as 127.0.0.1:8377, into host and port.
// It fails for an address at which nothing can listen anywhere.
func SplitListen(address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", "", fmt.Errorf("%q is no address to listen on; write host:port, such as 127.0.0.1:8377", address)
	}
	return host, port, nil
}
