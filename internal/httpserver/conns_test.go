package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// counted counts the connections of a listener that are open.
type counted struct {
	net.Listener
	open, most atomic.Int64
}

type countedConn struct {
	net.Conn
	l      *counted
	closed atomic.Bool
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if n := l.open.Add(1); n > l.most.Load() {
		l.most.Store(n)
	}
	return &countedConn{Conn: c, l: l}, nil
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.l.open.Add(-1)
	}
	return c.Conn.Close()
}

// Silent connections make way for new ones, and not the one that is being answered.
func TestSilentConnectionsMakeWay(t *testing.T) {
	t.Parallel()
	everyone := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for name, b := range map[string]Bounds{
		"in all": {Conns: 10, PerAddr: 1, Trusted: everyone}, "of one address": {Conns: 1000, PerAddr: 10},
		"by default": {Conns: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, addr := bind(t, b)
			answered, pieces := ask(t, addr)
			for n := range 60 {
				silent, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer silent.Close()
				if n%3 != 0 {
					continue
				}
				pieces <- struct{}{}
				if _, err := io.ReadFull(answered, make([]byte, 1)); err != nil {
					t.Fatalf("the answer under way, after %d silent connections: %v", n, err)
				}
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
				resp, err := client.Get("http://" + addr + "/")
				if err != nil {
					t.Fatalf("a new connection after %d silent ones: %v", n, err)
				}
				resp.Body.Close()
			}
			if most := l.most.Load(); most > 15 {
				t.Errorf("%d connections were open at a time, want 10, the one that came, and those being closed", most)
			}
		})
	}
}

// A trusted proxy with an IPv6 address has as many connections as one with an IPv4 address.
func TestTrustedProxyByIPv6(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	defer inner.Close()
	l := boundListener(inner, Bounds{Conns: 10, PerAddr: 1, Trusted: []netip.Prefix{netip.MustParsePrefix("::1/128")}})
	for range 5 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
	}
	if n := l.all.Len(); n != 5 {
		t.Errorf("%d of 5 connections of a trusted proxy are open", n)
	}
}

// bind serves with bounds: "/pieces" answers a byte for each that is sent to
// the channel that ask returns.
func bind(t *testing.T, b Bounds) (*counted, string) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counted{Listener: inner}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/pieces", func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_ = control.SetReadDeadline(time.Time{})
		for buffer := make([]byte, 1); ; {
			if _, err := io.ReadFull(r.Body, buffer); err != nil {
				return
			}
			_, _ = w.Write(buffer)
			_ = control.Flush()
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, New(mux, Times{}, zerolog.Nop()), l, b, 0) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l, inner.Addr().String()
}

// ask begins a request whose answer comes in pieces, one for each value sent.
func ask(t *testing.T, addr string) (io.Reader, chan<- struct{}) {
	t.Helper()
	body, pen := io.Pipe()
	pieces := make(chan struct{})
	go func() {
		for range pieces {
			_, _ = pen.Write([]byte("x"))
		}
	}()
	t.Cleanup(func() { close(pieces); pen.Close() })
	pieces <- struct{}{}
	resp, err := http.Post("http://"+addr+"/pieces", "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp.Body, pieces
}
