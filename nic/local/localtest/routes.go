package localtest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/bits"
	"net/netip"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// ipTool simulates the part of iproute2's ip that shows rules and IPv4 routes as JSON: the routes of
// /proc/net/route, and the rules that a host has without policy routing.
func (h *Host) ipTool(_ context.Context, args []string) (runner.Result, error) {
	var out any
	switch strings.Join(args, " ") {
	case "-j -4 rule show":
		out = []map[string]any{{"priority": 0, "src": "all", "table": "local"}, {"priority": 32766, "src": "all", "table": "main"}, {"priority": 32767, "src": "all", "table": "default"}}
	case "-j -4 route show table all":
		text, err := h.tree.ReadFile(h.proc("net", "route"))
		if err != nil {
			return runner.Result{Code: 2, Stderr: []byte("Cannot open netlink socket\n")}, nil
		}
		out = routesOf(string(text))
	case "-j -6 rule show", "-j -6 route show table all":
		return runner.Result{}, nil // as without IPv6
	default:
		return runner.Result{Code: 255, Stderr: []byte("Object is unknown, try \"ip help\".\n")}, nil
	}
	b, err := json.Marshal(out)
	return runner.Result{Stdout: b}, err
}

// routesOf reads the lines of /proc/net/route.
func routesOf(text string) []map[string]any {
	out := []map[string]any{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] == "Iface" {
			continue
		}
		to, _ := hex.DecodeString(f[1])
		mask, _ := hex.DecodeString(f[7])
		var a [4]byte
		binary.NativeEndian.PutUint32(a[:], binary.BigEndian.Uint32(to))
		dst := "default"
		if n := bits.OnesCount32(binary.BigEndian.Uint32(mask)); n > 0 {
			dst = netip.PrefixFrom(netip.AddrFrom4(a), n).String()
		}
		out = append(out, map[string]any{"dst": dst, "dev": f[0], "flags": []string{}})
	}
	return out
}
