package httpserver

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// Bounds limit the connections of a listener. A further connection replaces the
// one that was last useful the longest time ago, so that slow and idle ones make
// way and whoever is being answered stays.
type Bounds struct {
	Conns   int            // in all; 0: a quarter of the files that the process may open, from 8 to 4096
	PerAddr int            // of one address, or one /64; 0: half of Conns
	Trusted []netip.Prefix // proxies: bound by Conns alone
	// Judged: only Useful says which connection is useful. Otherwise each piece
	// of an answer does.
	Judged bool
}

func (b Bounds) withDefaults() Bounds {
	b.Conns = cmp.Or(b.Conns, defaultShare())
	b.PerAddr = cmp.Or(b.PerAddr, max(b.Conns/2, 1))
	return b
}

// defaultShare returns the number of connections for one listener: a part of the
// files that the process may open. The databases, the index, the recordings being
// read and the outgoing calls need the rest.
func defaultShare() int {
	const most = 4096
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return most / 16
	}
	return max(int(min(uint64(l.Cur)/4, most)), 8)
}

// bounded is a listener that keeps its connections within the bounds.
type bounded struct {
	net.Listener
	Bounds

	mu   sync.Mutex
	all  *list.List // of *conn, the most useful at the back
	each map[netip.Addr]*list.List
}

func boundListener(l net.Listener, b Bounds) *bounded {
	return &bounded{Listener: l, Bounds: b.withDefaults(), all: list.New(), each: map[netip.Addr]*list.List{}}
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
	peer := PeerAddr(c.RemoteAddr().String())
	k := &conn{Conn: c, ln: b, addr: Network(peer)}
	b.mu.Lock()
	own := b.each[k.addr]
	if own == nil {
		own = list.New()
		b.each[k.addr] = own
	}
	k.inAll, k.inOwn = b.all.PushBack(k), own.PushBack(k)
	var last *conn
	switch {
	case own.Len() > b.PerAddr && !Contains(b.Trusted, peer):
		last = own.Front().Value.(*conn)
	case b.all.Len() > b.Conns:
		last = b.all.Front().Value.(*conn)
	}
	b.mu.Unlock()
	if last != nil {
		last.Close()
	}
	return k
}

// Close closes the connection and frees its place.
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

// markUseful moves a connection to the back of the lists.
func (k *conn) markUseful() {
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

// MarkUseful puts the connection of a request among the last to make way for
// another.
func MarkUseful(ctx context.Context) {
	if k, ok := ctx.Value(connKey{}).(*conn); ok {
		k.markUseful()
	}
}

// markWritten is MarkUseful where each piece of an answer counts.
func markWritten(ctx context.Context) {
	if k, ok := ctx.Value(connKey{}).(*conn); ok && !k.ln.Judged {
		k.markUseful()
	}
}
