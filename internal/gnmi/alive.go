package gnmi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DefaultSilence is how long a device may send no answer at all while a Set is pending.
const DefaultSilence = 30 * time.Second

// errSilent is the cause with which whileAlive ends a call.
var errSilent = errors.New("the device does not answer")

// whileAlive returns a context that ends with errSilent once the device has answered nothing for
// Config.Silence. A device may work on a Set for minutes, so whileAlive repeats the request for
// capabilities that Dial makes, which the device answers meanwhile. gRPC's own keepalive does not
// help: servers close the connection of a client that sends one more often than every five
// minutes. The caller must call stop, which waits for the goroutine.
func (c *Client) whileAlive(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(c.silence / 3)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			one, done := context.WithTimeout(ctx, c.silence/3)
			_, err := c.target.Capabilities(one)
			silent := err != nil && one.Err() != nil
			done()
			if !silent {
				last = time.Now() // a refusal also shows that the device is alive
			} else if time.Since(last) >= c.silence {
				cancel(errSilent)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}

// silentError returns the error of a call that whileAlive ended.
func (c *Client) silentError(op string) *RPCError {
	return &RPCError{Op: op, Addr: c.addr, Msg: fmt.Sprintf("no answer from the device for %s", c.silence), kind: ErrTimeout, cause: context.DeadlineExceeded}
}
