package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections bounds the connections of a server. One above a bound does not wait: it
// takes the place of the connection that has been without a request for longest, of the
// same client or of all. A client that holds connections open therefore keeps nobody from
// being answered, itself included.
type connections struct {
	all, ofClient int // the bounds

	mu    sync.Mutex
	count uint64 // of the times that a connection was taken or fell idle
	open  map[net.Conn]*connection
}

type connection struct {
	client string
	busy   bool   // a request is being answered
	idle   uint64 // orders connections by when they became idle
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

func newConnections() *connections {
	return &connections{all: maxConnections, ofClient: maxClientConnections, open: map[net.Conn]*connection{}}
}

// take is [http.Server.ConnContext]: it takes a new connection in, and closes another one
// where it is one too many.
func (l *connections) take(ctx context.Context, c net.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	one := &connection{client: host(c.RemoteAddr().String()), idle: l.count}
	l.open[c] = one
	mine := 0
	var oldest, oldestOfClient net.Conn
	for c, o := range l.open {
		if o.client == one.client {
			mine++
			oldestOfClient = l.older(oldestOfClient, c)
		}
		oldest = l.older(oldest, c)
	}
	switch {
	case mine > l.ofClient:
		oldest = oldestOfClient
	case len(l.open) <= l.all:
		return context.WithValue(ctx, connectionKey{}, one)
	}
	delete(l.open, oldest)
	_ = oldest.Close() // its goroutine finds out
	return context.WithValue(ctx, connectionKey{}, one)
}

// older returns which of two connections has been idle for longer. One that is busy is
// not idle; a may be nil.
func (l *connections) older(a, b net.Conn) net.Conn {
	if l.open[b].busy || a != nil && l.open[a].idle < l.open[b].idle {
		return a
	}
	return b
}

// state is [http.Server.ConnState].
func (l *connections) state(c net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
}

// handler notes which connections are busy.
func (l *connections) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connectionKey{}).(*connection)
		l.set(c, true)
		defer l.set(c, false)
		h.ServeHTTP(w, r)
	})
}

func (l *connections) set(c *connection, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	c.busy, c.idle = busy, l.count
}

// host is a client by its address.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}
