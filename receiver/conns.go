package receiver

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// A bounded listener holds at most so many connections in all and of one
// address. One more takes the place of the one that has gone longest without a
// request that was answered 200: slow and idle ones make way, whoever delivers
// stays.
type bounded struct {
	net.Listener
	perAddr, total int
	trusted        []netip.Prefix // proxies: bound by total alone

	mu   sync.Mutex
	all  *list.List // of *conn, the most useful at the back
	each map[netip.Addr]*list.List
}

func bound(ln net.Listener, o Options) *bounded {
	return &bounded{Listener: ln, perAddr: o.MaxConnsPerAddr, total: o.MaxConns, trusted: o.TrustedProxies,
		all: list.New(), each: map[netip.Addr]*list.List{}}
}

// conn is one connection and its places in the two lists.
type conn struct {
	net.Conn
	ln    *bounded
	addr  netip.Addr
	inAll *list.Element // nil once it is closed; guarded by ln.mu
	inOwn *list.Element
}

// Accept waits for the next connection.
func (b *bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return b.add(c), nil
}

func (b *bounded) add(c net.Conn) *conn {
	k := &conn{Conn: c, ln: b, addr: network(peerAddr(c.RemoteAddr().String()))}
	b.mu.Lock()
	own := b.each[k.addr]
	if own == nil {
		own = list.New()
		b.each[k.addr] = own
	}
	k.inAll, k.inOwn = b.all.PushBack(k), own.PushBack(k)
	var last *conn
	switch {
	case own.Len() > b.perAddr && !contains(b.trusted, k.addr):
		last = own.Front().Value.(*conn)
	case b.all.Len() > b.total:
		last = b.all.Front().Value.(*conn)
	}
	b.mu.Unlock()
	if last != nil {
		last.Close()
	}
	return k
}

// Close closes the connection and gives its place free.
func (k *conn) Close() error {
	b := k.ln
	b.mu.Lock()
	if k.inAll != nil {
		own := b.each[k.addr]
		b.all.Remove(k.inAll)
		if own.Remove(k.inOwn); own.Len() == 0 {
			delete(b.each, k.addr)
		}
		k.inAll, k.inOwn = nil, nil
	}
	b.mu.Unlock()
	return k.Conn.Close()
}

// CloseWrite lets net/http end an answer before the connection.
func (k *conn) CloseWrite() error {
	if c, ok := k.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// useful moves a connection to the back of the lists.
func (k *conn) useful() {
	b := k.ln
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.inAll != nil {
		b.all.MoveToBack(k.inAll)
		b.each[k.addr].MoveToBack(k.inOwn)
	}
}

type connKey struct{}

// withConn puts a connection into the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// useful notes that the connection of a request has delivered something.
func useful(ctx context.Context) {
	if k, ok := ctx.Value(connKey{}).(*conn); ok {
		k.useful()
	}
}
