package dcb

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/mdlayher/netlink"
)

// Watcher tells which devices' DCB settings somebody writes, this process
// included (multicast group RTNLGRP_DCB). The kernel tells of IEEE writes, of
// those that failed too, and not of a change of the DCBX owner. What was
// written is for [Client.Get] to find out.
//
// What is not fetched waits in the socket's buffer, whose size bounds it; what
// does not fit is lost, and Next says so.
type Watcher struct {
	conn   *netlink.Conn
	names  []string // of one datagram
	lost   error    // what of that datagram could not be read
	closed atomic.Bool
}

// Watch begins to listen; what is written from its return on is told. It needs
// no privilege.
func Watch() (*Watcher, error) {
	conn, err := netlink.Dial(0, nil) // NETLINK_ROUTE
	if err != nil {
		return nil, &Error{Op: "watch", Msg: err.Error(), cause: err}
	}
	return newWatcher(conn)
}

func newWatcher(conn *netlink.Conn) (*Watcher, error) {
	if err := conn.JoinGroup(groupDCB); err != nil {
		return nil, errors.Join(&Error{Op: "watch", Msg: err.Error(), cause: err}, conn.Close())
	}
	return &Watcher{conn: conn}, nil
}

// Close ends the Watcher, and a Next that waits.
func (w *Watcher) Close() error {
	w.closed.Store(true)
	if err := w.conn.Close(); err != nil {
		return &Error{Op: "watch", Msg: err.Error(), cause: err}
	}
	return nil
}

// Next waits for a write and returns the name of its device. It ends with its
// context; after ErrLost, and after an ended context, it may be called again.
// It is called by one goroutine at a time.
func (w *Watcher) Next(ctx context.Context) (ifname string, err error) {
	for {
		if len(w.names) > 0 {
			ifname, w.names = w.names[0], w.names[1:]
			return ifname, nil
		}
		if err := w.lost; err != nil {
			w.lost = nil
			return "", &Error{Op: "watch", Msg: err.Error(), kind: ErrLost, cause: err}
		}
		if err := w.receive(ctx); err != nil {
			return "", err
		}
	}
}

func (w *Watcher) receive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: "watch", Msg: err.Error(), cause: err}
	}
	release, err := bound(ctx, w.conn)
	if err != nil {
		return w.failure(ctx, err)
	}
	msgs, err := w.conn.Receive()
	release()
	if err != nil {
		return w.failure(ctx, err)
	}
	for _, m := range msgs {
		if m.Header.Type != rtmGetDCB && m.Header.Type != rtmSetDCB {
			continue
		}
		name, err := decodeNotice(m.Data)
		if err != nil {
			w.lost = err
			continue
		}
		w.names = append(w.names, name)
	}
	return nil
}

func (w *Watcher) failure(ctx context.Context, err error) error {
	e := &Error{Op: "watch", Msg: err.Error(), cause: err}
	switch {
	case w.closed.Load():
		e.kind, e.Msg = ErrClosed, ""
	case errors.Is(err, syscall.ENOBUFS):
		e.kind, e.Msg = ErrLost, ""
	case errors.Is(err, os.ErrDeadlineExceeded):
		// The socket may see the deadline before the context does.
		e.cause = cmp.Or(ctx.Err(), context.DeadlineExceeded)
		e.Msg = e.cause.Error()
	}
	return e
}
