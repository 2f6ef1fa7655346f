package gnmi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DefaultSilence is how long a device may answer nothing at all while a Set is out.
const DefaultSilence = 30 * time.Second

// errSilent is the cause of a call's end if the device answers nothing beside it.
var errSilent = errors.New("the device answers nothing")

// whileAlive returns a context that ends with errSilent once the device has answered nothing
// for Config.Silence. A device may work on a Set for minutes; meanwhile it answers what Dial
// asked it, its capabilities. gRPC's own keepalive is no help: servers end a connection whose
// client sends one more than every five minutes. stop must be called; it waits for what runs.
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
				last = time.Now() // a refusal is a sign of life, too
			} else if time.Since(last) >= c.silence {
				cancel(errSilent)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}

// silentError is the error of a call that whileAlive ended.
func (c *Client) silentError(op string) *RPCError {
	return &RPCError{Op: op, Addr: c.addr, Msg: fmt.Sprintf("the device has answered nothing for %s", c.silence), kind: ErrTimeout, cause: context.DeadlineExceeded}
}
