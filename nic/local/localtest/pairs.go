package localtest

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Pair is a queue pair on a port.
type Pair struct {
	RDMA    string // the device
	Local   int
	Remote  int    // 0 if not connected
	Type    string // "RC", "UD"
	State   string // "RTS", "INIT"
	Program string
	DSCP    int
	PCP     int
	// Slot is the slot of the GID table that it sends from; 0 stands for the one with an IP address
	// and RoCE v2. Peer is the IP address of the other end, "" for 10.0.0.2. UDPPort is its source
	// port; 0 stands for the one that the driver derives from both numbers of the pair, and -1 for
	// the one that it sets for all pairs.
	Slot    int
	Peer    string
	UDPPort int
}

// SetPairs replaces the queue pairs of all ports.
func (h *Host) SetPairs(pairs ...Pair) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pairs = pairs
}

// rdmaTool simulates the part of iproute2's rdma that shows queue pairs.
func (h *Host) rdmaTool(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	raw := slices.Contains(args, "-r")
	fails := func(why string) (runner.Result, error) {
		return runner.Result{Stderr: []byte(why + "\n"), Code: 1}, nil
	}
	at := slices.Index(args, "link")
	if at < 0 || at+1 >= len(args) || !slices.Contains(args, "-j") {
		return fails("Wrong device name")
	}
	number := 0
	if i := slices.Index(args, "lqpn"); i > 0 && i+1 < len(args) {
		number, _ = strconv.Atoi(args[i+1])
	}
	if raw && h.faults.NotRoot {
		return fails("error: Operation not permitted")
	}
	list := []map[string]any{}
	for _, p := range h.pairs {
		if p.RDMA+"/1" != args[at+1] || number != 0 && number != p.Local {
			continue
		}
		line := map[string]any{"ifindex": 0, "ifname": p.RDMA, "port": 1}
		if raw {
			line["data"] = numbers(p.context())
		} else {
			line["lqpn"], line["type"], line["state"], line["sq-psn"], line["pid"], line["comm"] = p.Local, p.Type, p.State, 7, 4242, p.Program
			if p.Remote > 0 {
				line["rqpn"], line["rq-psn"], line["path-mig-state"] = p.Remote, 9, "MIGRATED"
			}
		}
		list = append(list, line)
	}
	if raw && number != 0 && len(list) == 0 {
		return fails("error: No such file or directory")
	}
	b, err := json.Marshal(list)
	must(err)
	return runner.Result{Stdout: append(b, '\n')}, nil
}

// numbers returns bytes in the form that rdma prints.
func numbers(b []byte) []int {
	out := make([]int, len(b))
	for i, v := range b {
		out[i] = int(v)
	}
	return out
}

// context returns the mlx5 firmware's dump of a queue pair: a segment that identifies the pair, its
// context (include/linux/mlx5/mlx5_ifc.h, qpc_bits), and an end segment.
func (p Pair) context() []byte {
	states := map[string]byte{"INIT": 1, "RTR": 2, "RTS": 3, "SQD": 5, "ERR": 6}
	kinds := map[string]byte{"RC": 0, "UC": 1, "UD": 2}
	head := make([]byte, 16)
	binary.BigEndian.PutUint32(head[8:], uint32(p.Local))
	c := make([]byte, 256)
	c[0], c[1], c[2] = states[p.State]<<4, kinds[p.Type], 0x18
	c[8] = 5<<5 | 30
	binary.BigEndian.PutUint32(c[20:], uint32(p.Remote)&0xffffff)
	path := c[24:]
	path[9], path[11] = byte(cmp.Or(p.Slot, 3)), 64 // source, hop limit
	peer := netip.MustParseAddr(cmp.Or(p.Peer, "10.0.0.2")).As16()
	copy(path[16:], peer[:])
	path[33] = 2<<6 | byte(p.DSCP)
	binary.BigEndian.PutUint16(path[34:], p.udpPort())
	path[36] = byte(p.PCP) << 4
	return append(append(head, c...), 0, 2, 0, 0)
}

// udpPort returns the source port of a pair (include/rdma/ib_verbs.h, rdma_calc_flow_label and
// rdma_flow_label_to_udp_sport).
func (p Pair) udpPort() uint16 {
	const first = 0xc000
	switch {
	case p.UDPPort < 0:
		return first
	case p.UDPPort > 0:
		return uint16(p.UDPPort)
	}
	v := uint64(p.Local) * uint64(p.Remote)
	v ^= v >> 20
	v ^= v >> 40
	label := uint16(v&0x3fff ^ v>>14&0x3f)
	return first | label
}
