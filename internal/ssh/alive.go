package ssh

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultSilence is how long a device may send nothing while it is sent keepalive requests.
const DefaultSilence = 30 * time.Second

// heard is the time at which the last byte arrived from the peer.
type heard struct{ at atomic.Pointer[time.Time] }

func (h *heard) now() { t := time.Now(); h.at.Store(&t) }

// watchSilence ends the connection if the device has sent nothing for Config.Silence. A command
// may print nothing for minutes, so watchSilence sends keepalive requests, which every server must
// answer, if only with a refusal (RFC 4254, section 4; OpenSSH's ServerAliveInterval does the
// same). The first request is sent at once. A server other than OpenSSH that has never answered a
// request is not disconnected.
func (c *Client) watchSilence() {
	tick := time.NewTicker(c.silence / 3)
	defer tick.Stop()
	var answers, waiting atomic.Bool
	answers.Store(strings.Contains(string(c.device().ServerVersion()), "OpenSSH"))
	for {
		if !waiting.Swap(true) {
			c.work.Go(func() {
				if _, _, err := c.device().SendRequest("keepalive@openssh.com", true, nil); err == nil {
					answers.Store(true)
					waiting.Store(false)
				}
			})
		}
		select {
		case <-c.ended:
			return
		case <-tick.C:
		}
		if last := c.last.heard.at.Load(); answers.Load() && waiting.Load() && time.Since(*last) >= c.silence {
			c.silent.Store(true)
			_ = c.base.Close() // pending operations then return the error of lost
			return
		}
	}
}

// lost returns the error for an operation whose connection ended first.
func (c *Client) lost(op string, err error) *Error {
	if c.silent.Load() {
		return newError(op, c.addr, ErrTimeout, fmt.Errorf("the device has sent nothing for %s", c.silence))
	}
	return newError(op, c.addr, ErrLost, err)
}
