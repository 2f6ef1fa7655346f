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

// Client is a connection to a device. Its methods may be called from several goroutines. Each
// command and each shell uses its own channel.
type Client struct {
	addr           string
	log            *trace.Log
	commandTimeout time.Duration
	maxOutput      int64

	base  net.Conn       // TCP connection that carries everything
	conns []*xssh.Client // connection to the jump host, if any, then to the device
	last  *wire          // network connection below the SSH connection to the device
	slots chan struct{}
	ended chan struct{} // closed when the connection to the device has ended
	// silent is set before the connection is closed because the device sent nothing for the
	// duration of silence.
	silent  atomic.Bool
	silence time.Duration
	work    sync.WaitGroup // goroutines that end with the connection or earlier

	mu     sync.Mutex
	closed bool
	once   sync.Once
	err    error
}

// Dial connects and logs in. The error is an [*Error] that wraps ErrUnreachable,
// ErrHostKeyUnknown, ErrHostKeyChanged, ErrAuth, ErrTimeout or errConfig. The caller must call
// Close on the Client.
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
	// Closing the TCP connection and the agent ends every wait of the handshakes: for the device,
	// for the jump host, and for an agent that asks its user.
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
		// The context has ended, which explains any other error.
		_ = c.Close()
		return nil, contextError("connect", hops[min(len(c.conns), len(hops)-1)].addr, ctx)
	}
	if err != nil {
		// The connection was never used, so an error of Close does not matter.
		_ = c.Close()
		return nil, err
	}
	c.watchEnd()
	return c, nil
}

// newClient returns a Client without its SSH connections.
func newClient(cfg *Config, base net.Conn) *Client {
	return &Client{
		addr: cfg.Address, log: cfg.Log, commandTimeout: cfg.CommandTimeout, maxOutput: cfg.MaxOutput, silence: cfg.Silence,
		base: base, slots: make(chan struct{}, cfg.MaxChannels), ended: make(chan struct{}),
	}
}

// watchEnd closes c.ended when the connection to the device ends, and ends the connection if the
// device falls silent.
func (c *Client) watchEnd() {
	c.work.Go(func() {
		// The commands on the connection report why it ended.
		_ = c.device().Wait()
		close(c.ended)
	})
	c.work.Go(c.watchSilence)
}

// wire is a network connection that records whether its peer has ended it and when data last
// arrived.
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

// handshake establishes an SSH connection on conn and logs in.
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
	case known && (!connectionEnded(err) || strings.Contains(err.Error(), "unable to authenticate")):
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

// closeGrace is how long Close may take. The device only has to accept a few packets in that time.
const closeGrace = 2 * time.Second

// Close ends the connection with all its commands and shells, and waits for their goroutines. It
// may be called more than once, and returns nil if the peer closed first. The error wraps
// ErrTimeout if a goroutine remains: a device that violates the protocol can block
// golang.org/x/crypto/ssh v0.58.0 forever, in the middle of a packet that nobody reads
// (handshakeTransport.readLoop).
func (c *Client) Close() error {
	c.once.Do(func() { c.err = c.close() })
	return c.err
}

func (c *Client) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// Closing the connection to the device sends a packet through the jump host, which may accept
	// no more data.
	errs := []error{c.base.SetWriteDeadline(time.Now().Add(closeGrace))}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := len(c.conns) - 1; i >= 0; i-- {
			errs = append(errs, c.conns[i].Close())
		}
		// If the handshake did not finish, this is the only thing that closes the connection.
		errs = append(errs, c.base.Close())
		for _, conn := range c.conns {
			// Wait returns the reason for the end, which is this Close.
			_ = conn.Wait()
		}
		c.work.Wait()
	}()
	patience := time.NewTimer(2 * closeGrace)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		return newError("close", c.addr, ErrTimeout, errors.New("the connection did not close"))
	}
	for _, err := range errs {
		if err != nil && !connectionEnded(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
			return newError("close", c.addr, nil, err)
		}
	}
	return nil
}

// start runs f in a goroutine that Close waits for. It returns false if the Client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// deadline adds the command timeout to ctx if ctx has no deadline. If a lock of ctx has ended, the
// returned context has ended too.
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

// session opens a channel and passes it to use, both in a goroutine, because neither can be
// interrupted while a device is silent. It returns when use returns or when the context ends. In
// the latter case the channel is closed, and the goroutine ends with the channel or the
// connection. use must therefore hold a lock to access values that the caller returns.
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
		// The device may have granted the channel after the caller left or lost its lock. Nothing
		// may run on it then.
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

// sessions opens channels; an xssh.Client implements it.
type sessions interface {
	NewSession() (*xssh.Session, error)
}

// open opens a channel unless the connection has ended, and gives up when it ends.
// golang.org/x/crypto/ssh v0.58.0 never answers a request for a channel that comes after it has
// closed the known channels (mux.loop) and before it notices that nothing can be sent
// (handshakeTransport.readLoop). A caller that retries right after a loss makes its request at
// exactly that time.
func open(device sessions, over *atomic.Bool, ended <-chan struct{}) (*xssh.Session, error) {
	if over.Load() {
		return nil, net.ErrClosed
	}
	type result struct {
		s   *xssh.Session
		err error
	}
	opened := make(chan result, 1)
	go func() { // a goroutine that Close does not wait for
		s, err := device.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		return r.s, r.err
	case <-ended:
		// A channel granted at the last moment has ended as well.
		return nil, net.ErrClosed
	}
}

// channelError distinguishes a device that refuses a channel from a lost connection.
func (c *Client) channelError(op string, err error) error {
	var refused *xssh.OpenChannelError
	if errors.As(err, &refused) {
		return newError(op, c.addr, errRefused, err)
	}
	return c.lost(op, err)
}
