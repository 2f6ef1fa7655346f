// Package netx is the way to a device: every connection to one is opened by a [Dialer], so
// that tests can put another network in the place of the real one.
package netx

import (
	"context"
	"net"
)

// Dialer opens a connection to an address, as [net.Dialer.DialContext] does. It must be
// safe for concurrent use. A nil Dialer uses the network of the machine.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens a connection. The context bounds the dialling alone.
func (d Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d != nil {
		return d(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
