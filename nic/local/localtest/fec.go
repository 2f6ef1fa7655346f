package localtest

import (
	"context"
	"fmt"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// SetFEC sets the FEC in use on a port's link: "RS", "BaseR" or "Off".
func (h *Host) SetFEC(port, encoding string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports[port].fec = encoding
}

// ethtoolFEC simulates the part of ethtool that shows forward error correction.
func (h *Host) ethtoolFEC(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(args) != 2 || args[0] != "--show-fec" {
		return runner.Result{Stderr: []byte("ethtool: bad command line argument(s)\n"), Code: 1}, nil
	}
	p := h.ports[args[1]]
	if p == nil || p.VF || p.fec == "" {
		return runner.Result{Stderr: []byte("netlink error: Operation not supported\n"), Code: 75}, nil
	}
	active := p.fec
	if h.number(h.sys("class", "net", args[1], "carrier")) == 0 {
		active = "Off"
	}
	return runner.Result{Stdout: fmt.Appendf(nil, "FEC parameters for %s:\nSupported/Configured FEC encodings: Auto Off BaseR RS\nActive FEC encoding: %s\n", args[1], active)}, nil
}
