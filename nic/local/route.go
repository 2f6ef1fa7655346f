package local

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// route is a route of the machine as listed in /proc/net (Linux, net/ipv4/fib_trie.c and
// net/ipv6/route.c).
type route struct {
	to     netip.Prefix
	dev    string
	metric uint64
}

// Flags of a route.
const (
	routeUp     = 0x1
	routeReject = 0x200
)

// routes reads the main IPv4 table and all IPv6 tables, skipping unknown lines.
func (m *Machine) routes() ([]route, error) {
	v4, err := m.fs().ReadFile(m.proc("net", "route"))
	if err != nil {
		return nil, fmt.Errorf("read the routes: %w", err)
	}
	v6, err := m.fs().ReadFile(m.proc("net", "ipv6_route"))
	if err != nil && !isGone(err) {
		return nil, fmt.Errorf("read the routes: %w", err)
	}
	var out []route
	for _, t := range []struct {
		text  []byte
		parse func(fields []string) (route, bool)
	}{{v4, parseRoute4}, {v6, parseRoute6}} {
		for line := range strings.Lines(string(t.text)) {
			if r, ok := t.parse(strings.Fields(line)); ok && r.dev != "lo" && validName(r.dev, maxIfname) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// parseRoute4 parses "Iface Destination Gateway Flags RefCnt Use Metric Mask ...", with addresses
// as hexadecimal numbers in the machine's byte order.
func parseRoute4(f []string) (route, bool) {
	if len(f) < 8 {
		return route{}, false
	}
	to, err1 := hex.DecodeString(f[1])
	mask, err2 := hex.DecodeString(f[7])
	flags, err3 := strconv.ParseUint(f[3], 16, 32)
	metric, err4 := strconv.ParseUint(f[6], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(to) != 4 || len(mask) != 4 || flags&routeUp == 0 || flags&routeReject != 0 {
		return route{}, false
	}
	var a [4]byte
	binary.NativeEndian.PutUint32(a[:], binary.BigEndian.Uint32(to))
	ones := bits.OnesCount32(binary.BigEndian.Uint32(mask))
	return route{netip.PrefixFrom(netip.AddrFrom4(a), ones).Masked(), f[0], metric}, true
}

// parseRoute6 parses "destination bits source bits gateway metric references use flags device", all
// hexadecimal except the device.
func parseRoute6(f []string) (route, bool) {
	if len(f) < 10 {
		return route{}, false
	}
	to, err1 := hex.DecodeString(f[0])
	bits, err2 := strconv.ParseUint(f[1], 16, 8)
	metric, err3 := strconv.ParseUint(f[5], 16, 32)
	flags, err4 := strconv.ParseUint(f[8], 16, 32)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(to) != 16 || bits > 128 || flags&routeUp == 0 || flags&routeReject != 0 {
		return route{}, false
	}
	return route{netip.PrefixFrom(netip.AddrFrom16([16]byte(to)), int(bits)).Masked(), f[9], metric}, true
}

// best returns the devices of the best matching routes: longest prefix first, then lowest metric.
func best(routes []route, match func(netip.Prefix) bool) []string {
	bits, metric := -1, uint64(math.MaxUint64)
	var devs []string
	for _, r := range routes {
		if !match(r.to) || r.to.Bits() < bits || r.to.Bits() == bits && r.metric > metric {
			continue
		}
		if r.to.Bits() > bits || r.metric < metric {
			devs = nil
		}
		bits, metric = r.to.Bits(), r.metric
		devs = append(devs, r.dev)
	}
	return devs
}

// management describes the path over which the machine is managed: the route to the peer or, if the
// peer is unknown or local, the default route. Taking down its only live port would cut off the
// machine.
type management struct {
	what string
	devs []string
	live []string
	err  error
}

func (m *Machine) management(peer netip.Addr) management {
	routes, err := m.routes()
	if err != nil {
		return management{err: err}
	}
	peer = peer.Unmap().WithZone("")
	var g management
	if peer.IsValid() && !peer.IsLoopback() {
		g.what = "to " + peer.String()
		g.devs = best(routes, func(p netip.Prefix) bool { return p.Contains(peer) })
		if len(g.devs) == 0 {
			return management{err: fmt.Errorf("no route %s in the main table", g.what)}
		}
	}
	for _, v4 := range []bool{true, false} {
		if len(g.devs) == 0 {
			g.what = "of the default route"
			g.devs = best(routes, func(p netip.Prefix) bool { return p.Bits() == 0 && p.Addr().Is4() == v4 })
		}
	}
	live := map[string]bool{}
	for _, dev := range g.devs {
		for _, leaf := range m.leaves(dev, 0) {
			if up, err := m.carrier(leaf); err == nil && up {
				live[leaf] = true
			}
		}
	}
	g.live = natural.Keys(live)
	return g
}

// leaves returns the ports below a device, or the device itself if there are none.
func (m *Machine) leaves(dev string, depth int) []string {
	const most = 8 // maximum nesting of devices (MAX_NEST_DEV)
	lower := m.lower(dev)
	if len(lower) == 0 || depth == most {
		return []string{dev}
	}
	var out []string
	for _, l := range lower {
		out = append(out, m.leaves(l, depth+1)...)
	}
	return out
}

// cutBy says why taking the port down is refused; "" if it is not.
func (g management) cutBy(port string) string {
	switch {
	case g.err != nil:
		return "which port this machine is managed over is not known: " + clip(g.err.Error())
	case len(g.live) != 1 || g.live[0] != port:
		return ""
	}
	by := ""
	if !slices.Contains(g.devs, port) {
		by = " (by " + strings.Join(slices.Compact(slices.Sorted(slices.Values(g.devs))), ", ") + ")"
	}
	return "it carries the machine's only path " + g.what + by
}
