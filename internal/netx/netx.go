// Package netx opens all connections to devices through a [Dialer], so that tests can replace the
// network.
package netx

import (
	"context"
	"net"
)

// Dialer opens a connection to an address, as [net.Dialer.DialContext] does. It must be safe for
// concurrent use. A nil Dialer uses the machine's network.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens a connection. The context limits only the dialing, not the connection.
func (d Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d != nil {
		return d(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
