package testrun

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress returns an address of this machine on which a program may listen later, again
// and again until the test ends. Its port lies below those that the kernel gives to outgoing
// connections (from 32768 on), any of which could take it before the program does. Until
// the end the test keeps the UDP port of the same number, by which other tests, also in other
// processes, see that the number is taken.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		mark, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			mark.Close()
			continue
		}
		listener.Close()
		t.Cleanup(func() { mark.Close() })
		return address
	}
	t.Fatal("no port is free")
	return ""
}
