package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections limits the connections of a server. A new connection above a limit does not wait:
// it replaces the connection that has been idle the longest, of the same client or of all
// clients. A client that keeps connections open therefore cannot block others or itself.
type connections struct {
	all, ofClient int // limits for all clients together and for each client

	mu    sync.Mutex
	count uint64 // incremented whenever a connection opens or becomes idle
	open  map[net.Conn]*connection
}

type connection struct {
	client string
	busy   bool   // a request is in progress
	idle   uint64 // value of count when the connection became idle
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

func newConnections() *connections {
	return &connections{all: maxConnections, ofClient: maxClientConnections, open: map[net.Conn]*connection{}}
}

// take is an [http.Server.ConnContext]: it adds a new connection and closes another one if that
// exceeds a limit.
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
	_ = oldest.Close() // its goroutine notices
	return context.WithValue(ctx, connectionKey{}, one)
}

// older returns the connection that has been idle longer, a or b; busy connections are not idle.
// a may be nil.
func (l *connections) older(a, b net.Conn) net.Conn {
	if l.open[b].busy || a != nil && l.open[a].idle < l.open[b].idle {
		return a
	}
	return b
}

// state is an [http.Server.ConnState] that removes closed connections.
func (l *connections) state(c net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
}

// handler marks connections as busy during requests.
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

// host returns the host part of a client's address.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}
