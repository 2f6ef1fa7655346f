package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/trace"
)

// Client is a connection to a device. Its methods may be called from several
// goroutines; each command and each shell has a channel of its own.
type Client struct {
	addr           string
	log            *trace.Log
	commandTimeout time.Duration
	maxOutput      int64

	base  net.Conn       // the TCP connection below everything
	conns []*xssh.Client // the jump host's, if there is one, and the device's
	last  *wire          // what lies below the connection to the device
	slots chan struct{}
	ended chan struct{} // closed once the connection to the device is over
	// silent is set before the connection is ended because the device sent nothing for the
	// time of silence.
	silent  atomic.Bool
	silence time.Duration
	work    sync.WaitGroup // goroutines that end with the connection at the latest

	mu     sync.Mutex
	closed bool
	once   sync.Once
	err    error
}

// Dial connects and logs in. The error is an [*Error] that wraps
// ErrUnreachable, ErrHostKeyUnknown, ErrHostKeyChanged, ErrAuth, ErrTimeout or
// errConfig. Close must be called on the Client.
func Dial(ctx context.Context, cfg Config) (_ *Client, err error) {
	call := cfg.Log.Begin("ssh connect", func() string { return cfg.Address })
	defer func() { call.End(nil, err) }()
	hops, err := cfg.hops()
	if err == nil {
		err = cfg.check()
	}
	if err != nil {
		return nil, newError("connect", cfg.Address, errConfig, err)
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	l, err := newLogin(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	defer l.close()

	first := hops[0].addr
	base, err := cfg.Dial.Dial(ctx, "tcp", first)
	if err != nil {
		if ctx.Err() != nil {
			return nil, contextError("connect", first, ctx)
		}
		kind := ErrUnreachable
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			kind = ErrTimeout
		}
		return nil, newError("connect", first, kind, err)
	}
	// Closing what lies at the bottom ends every wait of the handshakes: those
	// on the device, on the jump host, and on an agent that asks a person.
	stop := context.AfterFunc(ctx, func() { base.Close(); l.close() })
	c := newClient(&cfg, base)
	conn := base
	for i, h := range hops {
		if i > 0 {
			if conn, err = c.conns[i-1].DialContext(ctx, "tcp", h.addr); err != nil {
				err = newError("connect", h.addr, ErrUnreachable, fmt.Errorf("jump host %s: %w", hops[i-1].addr, err))
				break
			}
		}
		c.last = &wire{Conn: conn}
		var next *xssh.Client
		if next, err = handshake(c.last, h, l, cfg.Hosts); err != nil {
			break
		}
		c.conns = append(c.conns, next)
	}
	if !stop() {
		// The context ended; whatever went wrong, or did not, comes of that.
		_ = c.Close()
		return nil, contextError("connect", hops[min(len(c.conns), len(hops)-1)].addr, ctx)
	}
	if err != nil {
		// The connection never did any work; how it closes adds nothing.
		_ = c.Close()
		return nil, err
	}
	c.watch()
	return c, nil
}

// newClient is a Client without its connections.
func newClient(cfg *Config, base net.Conn) *Client {
	return &Client{
		addr: cfg.Address, log: cfg.Log, commandTimeout: cfg.CommandTimeout, maxOutput: cfg.MaxOutput, silence: cfg.Silence,
		base: base, slots: make(chan struct{}, cfg.MaxChannels), ended: make(chan struct{}),
	}
}

// watch begins to tell of the end of the connection to the device, and ends it if the device
// falls silent.
func (c *Client) watch() {
	c.work.Go(func() {
		// The commands on it return why it ended.
		_ = c.device().Wait()
		close(c.ended)
	})
	c.work.Go(c.watchSilence)
}

// wire is a connection that knows when its peer has ended it, and when it was last heard.
type wire struct {
	net.Conn
	over  atomic.Bool
	heard heard
}

// Read implements io.Reader.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.heard.now()
	if err != nil {
		w.over.Store(true)
	}
	return n, err
}

// handshake makes an SSH connection of conn, up to the accepted login.
func handshake(conn net.Conn, h hop, l *login, hosts *KnownHosts) (*xssh.Client, error) {
	var keyErr error
	known := false
	cc, chans, reqs, err := xssh.NewClientConn(conn, h.addr, &xssh.ClientConfig{
		User:              h.user,
		Auth:              l.methods,
		HostKeyAlgorithms: hosts.algorithms(h.addr),
		HostKeyCallback: func(addr string, remote net.Addr, key xssh.PublicKey) error {
			keyErr = hosts.check(addr, remote, key)
			known = keyErr == nil
			return keyErr
		},
	})
	switch {
	case err == nil:
		return xssh.NewClient(cc, chans, reqs), nil
	case keyErr != nil:
		return nil, keyErr
	case known && (!gone(err) || strings.Contains(err.Error(), "unable to authenticate")):
		e := newError("connect", h.addr, ErrAuth, err)
		e.Msg = fmt.Sprintf("user %s: %s", h.user, strings.TrimPrefix(err.Error(), "ssh: handshake failed: "))
		return nil, e
	}
	return nil, newError("connect", h.addr, ErrUnreachable, err)
}

// Addr returns the device's host:port.
func (c *Client) Addr() string { return c.addr }

// device returns the connection to the device itself.
func (c *Client) device() *xssh.Client { return c.conns[len(c.conns)-1] }

// closeGrace bounds a Close. For a Close, a device only has to accept a few
// packets.
const closeGrace = 2 * time.Second

// Close ends the connection, every command and shell on it, and waits for what
// runs for them. It may be called more than once, and returns nil where the
// peer was first. The error wraps ErrTimeout where something is left: a device
// that breaks the protocol can stop golang.org/x/crypto/ssh v0.58.0 for good,
// in the middle of a packet that nobody takes from it (handshakeTransport.readLoop).
func (c *Client) Close() error {
	c.once.Do(func() { c.err = c.close() })
	return c.err
}

func (c *Client) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// The device's connection is closed by a packet on that of the jump host,
	// which may take no more.
	errs := []error{c.base.SetWriteDeadline(time.Now().Add(closeGrace))}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := len(c.conns) - 1; i >= 0; i-- {
			errs = append(errs, c.conns[i].Close())
		}
		// Without a finished handshake only this holds the connection.
		errs = append(errs, c.base.Close())
		for _, conn := range c.conns {
			// Wait returns the reason of the end, which is this Close.
			_ = conn.Wait()
		}
		c.work.Wait()
	}()
	patience := time.NewTimer(2 * closeGrace)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		return newError("close", c.addr, ErrTimeout, errors.New("the connection does not end"))
	}
	for _, err := range errs {
		if err != nil && !gone(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
			return newError("close", c.addr, nil, err)
		}
	}
	return nil
}

// start runs f in a goroutine and has Close wait for it; it reports false once
// the Client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// deadline gives ctx the command timeout if it has no deadline. If a lock of ctx has ended,
// the returned context has ended too.
func (c *Client) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if err := fence.Err(ctx); err != nil {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ctx, func() { cancel(nil) }
	}
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.commandTimeout)
}

// session opens a channel and hands it to use, both in a goroutine: neither can
// be interrupted while a device is silent. It returns when use does, or with
// the context; the channel is then closed, and what still waits for the device
// is left to end with the channel or the connection. use must not touch what
// the caller returns except under a lock.
func (c *Client) session(ctx context.Context, op string, use func(*xssh.Session) error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return contextError(op, c.addr, ctx)
	}
	done := make(chan error, 1)
	ok := c.start(func() {
		defer func() { <-c.slots }()
		s, err := open(c.device(), &c.last.over, c.ended)
		if err != nil {
			done <- c.channelError(op, err)
			return
		}
		defer s.Close()
		stop := context.AfterFunc(ctx, func() { s.Close() })
		defer stop()
		// The device may have granted the channel after the caller left, or lost
		// its lock; then nothing must run on it.
		if err := cmp.Or(ctx.Err(), fence.Err(ctx)); err != nil {
			done <- err
			return
		}
		done <- use(s)
	})
	if !ok {
		<-c.slots
		return c.lost(op, net.ErrClosed)
	}
	select {
	case err := <-done:
		if err != nil && ctx.Err() != nil {
			return contextError(op, c.addr, ctx)
		}
		return err
	case <-ctx.Done():
		return contextError(op, c.addr, ctx)
	}
}

// sessions is what opens channels, an xssh.Client.
type sessions interface {
	NewSession() (*xssh.Session, error)
}

// open opens a channel where the connection is not over, and gives up when it
// has ended. golang.org/x/crypto/ssh v0.58.0 never answers who asks for a channel
// after it has ended those it knows of (mux.loop) and before it knows that
// nothing can be sent any more (handshakeTransport.readLoop), which is where
// those are that try again at once after a loss.
func open(device sessions, over *atomic.Bool, ended <-chan struct{}) (*xssh.Session, error) {
	if over.Load() {
		return nil, net.ErrClosed
	}
	type result struct {
		s   *xssh.Session
		err error
	}
	opened := make(chan result, 1)
	go func() { // Close must not wait for it
		s, err := device.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		return r.s, r.err
	case <-ended:
		// A channel that was granted at the last moment has ended as well.
		return nil, net.ErrClosed
	}
}

// channelError tells a device that refuses from one that is gone.
func (c *Client) channelError(op string, err error) error {
	var refused *xssh.OpenChannelError
	if errors.As(err, &refused) {
		return newError(op, c.addr, errRefused, err)
	}
	return c.lost(op, err)
}
