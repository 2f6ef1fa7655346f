// Package memnet is an in-memory TCP network for simulated devices and their clients in one test.
// It works in the virtual time of testing/synctest, and lets a test delay, drop or cut each piece
// of data at any byte.
//
// A Write never blocks: buffers are unlimited, and the receiver applies the delay of a piece. The
// reason is that programs write while holding mutexes, and the clock of a bubble stands still
// while a goroutine waits for a mutex. Do not use this package to test a peer that stops reading.
package memnet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Piece is the data of one Write.
type Piece struct {
	To   string // address of the listener
	Conn int    // index of the connection in its network, from 0
	Up   bool   // from the client to the listener
	N    int    // index of the piece in its connection and direction, from 0
	Dial bool   // the client opens the connection; no data
	Data []byte
}

// Fate decides what happens to a piece. The zero value loses all of its data.
type Fate struct {
	Pass int           // number of bytes that arrive
	Wait time.Duration // in addition to the latency; later pieces do not overtake
	Pace time.Duration // between one byte and the next
	// Cut ends the connection after these bytes: the client sees a reset, the listener the end of
	// the data. A dial is refused.
	Cut bool
	// Silent stops all traffic after these bytes, in both directions, including the end of the
	// connection. A dial is never answered.
	Silent bool
}

// Network connects clients and listeners. Use New to create one.
type Network struct {
	seed      uint64
	mu        sync.Mutex
	listeners map[string]*listener
	dials     map[string]uint64 // number of dials to each address
	port      int
	conns     int
}

// New creates a network. Each piece takes 50 to 150 µs, depending on the seed. Without these
// delays, everything would happen at the same instant of virtual time.
func New(seed uint64) *Network {
	return &Network{seed: seed, listeners: map[string]*listener{}, dials: map[string]uint64{}, port: 20000}
}

// latencies returns the source of the latencies for one direction of the nth connection to an
// address.
func (n *Network) latencies(address string, nth uint64) latencies {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s %d", n.seed, address, nth) // a hash does not fail
	return latencies(h.Sum64())
}

// latencies derives each latency from the current time only. Data sent at one instant takes
// equally long in one piece or several, and the order in which goroutines run has no effect.
type latencies uint64

func (l latencies) next() time.Duration {
	rnd := rand.NewPCG(uint64(l), uint64(time.Now().UnixNano()))
	return 50*time.Microsecond + time.Duration(rnd.Uint64()%uint64(100*time.Microsecond))
}

// Listen listens on host:port. The host must be an IP address; port 0 picks a free port.
func (n *Network) Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	if err != nil || ip == nil {
		return nil, &net.AddrError{Err: "not an IP address and a port", Addr: address}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if number == 0 {
		n.port++
		number = uint64(n.port)
	}
	l := &listener{network: n, addr: &net.TCPAddr{IP: ip, Port: int(number)}, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	if n.listeners[l.addr.String()] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: l.addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	n.listeners[l.addr.String()] = l
	return l, nil
}

type listener struct {
	network *Network
	addr    *net.TCPAddr
	once    sync.Once
	ended   chan struct{}
	wake    chan struct{} // holds an item while the queue needs attention

	mu    sync.Mutex
	queue []*conn
}

func (l *listener) Addr() net.Addr { return l.addr }

func (l *listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		if len(l.queue) > 0 {
			c := l.queue[0]
			l.queue = l.queue[1:]
			l.mu.Unlock()
			return c, nil
		}
		l.mu.Unlock()
		select {
		case <-l.wake:
		case <-l.ended:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
		}
	}
}

// Close stops listening and resets the connections that were not accepted.
func (l *listener) Close() error {
	err := error(&net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed})
	l.once.Do(func() {
		err = nil
		close(l.ended)
		l.network.mu.Lock()
		delete(l.network.listeners, l.addr.String())
		l.network.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range l.queue {
			c.out.end(errReset, 0)
		}
	})
	return err
}

// Client dials on a network. All connections of one process should share a Client, so that Kill
// ends the process.
type Client struct {
	network *Network
	fate    func(Piece) Fate

	mu    sync.Mutex
	dead  bool
	conns map[*conn]bool
}

// Client creates a client. fate decides about each piece of its connections, one at a time per
// direction of a connection; nil lets everything pass.
func (n *Network) Client(fate func(Piece) Fate) *Client {
	return &Client{network: n, fate: fate, conns: map[*conn]bool{}}
}

// Dial implements netx.Dialer for "tcp". It does not resolve names.
func (c *Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	n := c.network
	n.mu.Lock()
	l := n.listeners[address]
	n.port++
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n.port}
	number := n.conns
	n.conns++
	nth := n.dials[address]
	n.dials[address]++
	n.mu.Unlock()
	delay := n.latencies(address, nth)
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Source: local, Addr: named(address), Err: err}
	}
	if network != "tcp" {
		return fail(net.UnknownNetworkError(network))
	}
	var fate Fate
	if c.fate != nil {
		fate = c.fate(Piece{To: address, Conn: number, Up: true, Dial: true})
	}
	if fate.Silent {
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fail(os.ErrDeadlineExceeded) // the same error as in package net
		}
		return fail(ctx.Err())
	}
	trip := time.NewTimer(delay.next() + fate.Wait)
	defer trip.Stop()
	select {
	case <-trip.C:
	case <-ctx.Done():
		return fail(ctx.Err())
	}
	if l == nil || fate.Cut {
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	up, down := newHalf(), newHalf()
	silent := new(atomic.Bool)
	mine := &conn{client: c, delay: delay, silent: silent, number: number, to: address, up: true, local: local, remote: l.addr, in: down, out: up}
	theirs := &conn{client: c, delay: n.latencies(address, ^nth), silent: silent, number: number, to: address, local: l.addr, remote: local, in: up, out: down}
	mine.peer, theirs.peer = theirs, mine
	c.mu.Lock()
	dead := c.dead
	if !dead {
		c.conns[mine] = true
	}
	c.mu.Unlock()
	if dead {
		<-ctx.Done() // the process was killed: its calls never return by themselves
		return fail(ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.ended:
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	default:
	}
	l.queue = append(l.queue, theirs)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return mine, nil
}

// Kill ends the client's process as seen by its peers: all its connections end. Code of the
// process that still runs in the test reaches nobody: its writes are lost, and its reads and dials
// block until their deadline or until their end is closed.
func (c *Client) Kill() {
	c.mu.Lock()
	c.dead = true
	conns := c.conns
	c.conns = map[*conn]bool{}
	c.mu.Unlock()
	for m := range conns {
		m.mu.Lock()
		m.zombie = true
		m.mu.Unlock()
		if !m.silent.Load() {
			m.out.end(nil, 0)
		}
	}
}

// named is an address without a listener.
type named string

func (named) Network() string  { return "tcp" }
func (a named) String() string { return string(a) }

var errReset = os.NewSyscallError("read", syscall.ECONNRESET)

// half is one direction of a connection.
type half struct {
	mu    sync.Mutex
	queue []part
	last  time.Time // when the newest part arrives
	over  bool      // nothing more arrives because of err; a nil err is the end of the data
	err   error
	at    time.Time     // when over takes effect
	wake  chan struct{} // closed and replaced at each change
}

type part struct {
	data []byte
	due  time.Time     // of the first byte
	pace time.Duration // between one byte and the next
}

// arrived returns the number of bytes that have arrived.
func (p *part) arrived(now time.Time) int {
	switch {
	case p.due.After(now):
		return 0
	case p.pace == 0:
		return len(p.data)
	}
	return min(len(p.data), 1+int(now.Sub(p.due)/p.pace))
}

// take removes the first n bytes.
func (p *part) take(n int) {
	p.data, p.due = p.data[n:], p.due.Add(time.Duration(n)*p.pace)
}

func newHalf() *half { return &half{wake: make(chan struct{})} }

// changed wakes the reader. The caller must hold the mutex.
func (h *half) changed() {
	close(h.wake)
	h.wake = make(chan struct{})
}

// send makes data arrive after a delay, but not before data sent earlier. It returns the time
// until it has arrived.
func (h *half) send(p part, after time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return after
	}
	if p.due = time.Now().Add(after); h.last.After(p.due) {
		p.due = h.last
	}
	h.last = p.due
	if len(p.data) > 0 {
		h.last = h.last.Add(time.Duration(len(p.data)-1) * p.pace)
		h.queue = append(h.queue, p)
		h.changed()
	}
	return time.Until(h.last)
}

// end ends the direction after the data sent so far; a nil error means the end of the data.
func (h *half) end(err error, after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over, h.err, h.at = true, err, time.Now().Add(after)
	if h.last.After(h.at) {
		h.at = h.last
	}
	h.changed()
}

// reset ends the direction after a delay and drops data that would arrive later: the peer answered
// a write to a connection that it had closed.
func (h *half) reset(after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Now().Add(after)
	if h.over && !h.at.After(at) {
		return
	}
	var kept []part
	for _, p := range h.queue {
		if n := p.arrived(at); n > 0 {
			p.data = p.data[:n]
			kept = append(kept, p)
		}
	}
	h.queue, h.over, h.err, h.at = kept, true, errReset, at
	h.changed()
}

type conn struct {
	client        *Client
	delay         latencies
	silent        *atomic.Bool // shared by both ends
	number        int
	to            string
	up            bool // this is the client's end
	local, remote net.Addr
	in, out       *half
	peer          *conn

	writing sync.Mutex // held while the fate of a piece is decided
	sent    int

	mu       sync.Mutex
	closed   bool
	zombie   bool // the process was killed
	deadline [2]time.Time
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// state returns the deadline for reading or writing, and the error if the operation is no longer
// possible.
func (c *conn) state(which int) (deadline time.Time, zombie bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline = c.deadline[which]
	switch {
	case c.closed:
		err = net.ErrClosed
	case !deadline.IsZero() && !time.Now().Before(deadline):
		err = os.ErrDeadlineExceeded
	}
	return deadline, c.zombie, err
}

// Read returns the data that has arrived. It waits until there is some.
func (c *conn) Read(b []byte) (int, error) {
	for {
		c.in.mu.Lock()
		wake := c.in.wake
		deadline, zombie, err := c.state(0)
		if err != nil {
			c.in.mu.Unlock()
			return 0, c.failure("read", err)
		}
		next := deadline
		now := time.Now()
		switch {
		case zombie:
		case len(c.in.queue) > 0:
			p := &c.in.queue[0]
			if n := p.arrived(now); n > 0 {
				n = copy(b, p.data[:n])
				if p.take(n); len(p.data) == 0 {
					c.in.queue = c.in.queue[1:]
				}
				c.in.mu.Unlock()
				return n, nil
			}
			next = sooner(next, p.due)
		case c.in.over && !c.in.at.After(now):
			err := c.in.err
			c.in.mu.Unlock()
			if err == nil {
				return 0, io.EOF
			}
			return 0, c.failure("read", err)
		case c.in.over:
			next = sooner(next, c.in.at)
		}
		c.in.mu.Unlock()
		await(wake, next)
	}
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// await waits for a change or until a time; the zero time means forever.
func await(wake <-chan struct{}, until time.Time) {
	if until.IsZero() {
		<-wake
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
}

// Write sends a piece. It never blocks.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, zombie, err := c.state(1)
	if err != nil {
		return 0, c.failure("write", err)
	}
	if zombie || c.silent.Load() {
		return len(b), nil
	}
	c.peer.mu.Lock()
	gone := c.peer.closed
	c.peer.mu.Unlock()
	if gone {
		c.in.reset(c.delay.next())
		return 0, c.failure("write", os.NewSyscallError("write", syscall.EPIPE))
	}
	fate := Fate{Pass: len(b)}
	if c.client.fate != nil {
		fate = c.client.fate(Piece{To: c.to, Conn: c.number, Up: c.up, N: c.sent, Data: b})
		if fate.Pass < 0 || fate.Pass > len(b) {
			return 0, fmt.Errorf("memnet: a fate lets %d of %d bytes pass", fate.Pass, len(b))
		}
	}
	c.sent++
	after := c.delay.next() + fate.Wait
	after = c.out.send(part{data: append([]byte(nil), b[:fate.Pass]...), pace: fate.Pace}, after)
	switch {
	case fate.Silent:
		c.silent.Store(true)
	case fate.Cut:
		c.cut(after)
	}
	return len(b), nil
}

// cut ends the connection: the client sees a reset, the listener the end of the data.
func (c *conn) cut(after time.Duration) {
	client, server := c, c.peer
	if !c.up {
		client, server = server, client
	}
	client.in.end(errReset, after)
	server.in.end(nil, after)
}

// Close ends both directions. The peer can read the data sent before, then the end of the data.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	zombie := c.zombie
	c.mu.Unlock()
	if !zombie && !c.silent.Load() {
		c.out.end(nil, c.delay.next())
	}
	if c.up {
		c.client.mu.Lock()
		delete(c.client.conns, c)
		c.client.mu.Unlock()
	}
	c.wakeReader()
	return nil
}

func (c *conn) wakeReader() {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.changed()
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	err := c.setDeadline(0, t)
	c.wakeReader()
	return err
}

// SetWriteDeadline implements net.Conn. Because a Write never blocks, it fails only if the
// deadline has already passed.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(1, t) }

func (c *conn) setDeadline(which int, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failure("set", net.ErrClosed)
	}
	c.deadline[which] = t
	return nil
}
