package dcb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
)

// answerWait limits the wait for one answer. The kernel does the work within the send call, so the
// answer is there when the call returns. A driver that waits for its firmware cannot be
// interrupted.
const answerWait = 10 * time.Second

// Client talks to dcbnl in the network namespace of the thread that dials. Its methods may be
// called from several goroutines and run one after the other. They end with their context, and wait
// at most ten seconds for one answer; neither interrupts a firmware command that the driver has
// begun.
//
// A method that writes reports whether the device changed. If it also returns an error, true means
// that the device may have changed; false, that it certainly did not.
type Client struct {
	turn chan struct{} // holds one token while a method runs
	dial func() (*netlink.Conn, error)
	// conn is nil after a failure that leaves an answer outstanding; the next request dials again.
	conn   *netlink.Conn
	closed bool
}

// Dial opens a socket to the kernel. It sends nothing and needs no privileges.
func Dial() (*Client, error) {
	return newClient(func() (*netlink.Conn, error) { return netlink.Dial(0, nil) }) // NETLINK_ROUTE
}

func newClient(dial func() (*netlink.Conn, error)) (*Client, error) {
	c := &Client{turn: make(chan struct{}, 1), dial: dial}
	if err := c.connect(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Client) connect() error {
	conn, err := c.dial()
	if err != nil {
		return &Error{Op: "open netlink socket", Msg: err.Error(), cause: err}
	}
	c.conn = conn
	return nil
}

// Close waits for the running method and closes the socket.
func (c *Client) Close() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.closed = true
	return c.drop()
}

func (c *Client) drop() error {
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	if err != nil {
		return &Error{Op: "close netlink socket", Msg: err.Error(), cause: err}
	}
	return nil
}

// port is one device during one method call of a Client.
type port struct {
	c      *Client
	ctx    context.Context
	op     string
	ifname string
}

// begin waits for the Client's turn, which the caller releases with end.
func (c *Client) begin(ctx context.Context, op, ifname string) (*port, error) {
	p := &port{c: c, ctx: ctx, op: op, ifname: ifname}
	if ifname == "" || len(ifname) > maxName || strings.ContainsRune(ifname, 0) {
		return nil, p.fail(ErrNoDevice, fmt.Sprintf("a name has 1 to %d bytes", maxName))
	}
	if err := ctx.Err(); err != nil {
		return nil, p.wrap(err)
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, p.wrap(ctx.Err())
	}
	if c.closed {
		p.end()
		return nil, p.fail(errClosed, "")
	}
	return p, nil
}

func (p *port) end() { <-p.c.turn }

// Get reads the state that the driver of a device reports. It needs no privileges. ErrUnsupported
// means that the device has no DCB operations.
func (c *Client) Get(ctx context.Context, ifname string) (*State, error) {
	p, err := c.begin(ctx, "get", ifname)
	if err != nil {
		return nil, err
	}
	defer p.end()
	return p.get()
}

func (p *port) get() (*State, error) {
	req, err := encodeGet(p.ifname)
	if err != nil {
		return nil, err
	}
	data, _, err := p.exchange(req)
	if err != nil {
		return nil, err
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, p.wrap(err)
	}
	return s, nil
}

// exchange sends a request and returns its single answer. If it fails, untouched reports whether
// the device is certainly unchanged.
func (p *port) exchange(req netlink.Message) (data []byte, untouched bool, err error) {
	if err := p.ctx.Err(); err != nil {
		return nil, true, p.wrap(err)
	}
	if p.c.conn == nil {
		if err := p.c.connect(); err != nil {
			return nil, true, err
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, answerWait)
	defer cancel()
	release, err := bound(ctx, p.c.conn)
	if err != nil {
		return nil, true, p.wrap(err)
	}
	replies, err := p.c.conn.Execute(req)
	release()
	if err == nil && len(replies) == 1 {
		return replies[0].Data, false, nil
	}
	if err == nil {
		err = fmt.Errorf("%w: %d messages", ErrAnswer, len(replies))
	}
	e, kernel := p.sendError(err)
	if kernel {
		return nil, true, e
	}
	// A late answer must not be taken for the answer to the next request.
	return nil, false, errors.Join(e, p.c.drop())
}

// bound sets the deadline of ctx on conn, and interrupts conn when ctx is cancelled, until release
// is called.
func bound(ctx context.Context, conn *netlink.Conn) (release func(), err error) {
	deadline, _ := ctx.Deadline() // the zero time means no deadline
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		// It fails only on a closed socket, on which nobody waits.
		_ = conn.SetDeadline(time.Unix(1, 0))
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-done
		}
	}), nil
}
