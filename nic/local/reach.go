package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// mainTable is the table that rules select last, and that routes without a table are in.
const mainTable = "main"

// ipRoute is a route as 'ip -j route' shows it (iproute2, ip/iproute.c).
type ipRoute struct {
	Type  string `json:"type"` // "" for unicast
	To    string `json:"dst"`
	Dev   string `json:"dev"`
	Table string `json:"table"` // "" for main
	Hops  []struct {
		Dev string `json:"dev"`
	} `json:"nexthops"`
}

// ipRule is a rule of policy routing as 'ip -j rule' shows it. Words without a value, such as "not"
// and "l3mdev", are null (iproute2, ip/iprule.c).
type ipRule map[string]any

// policy holds the routes and rules of one protocol; everywhere is its destination "default".
type policy struct {
	everywhere netip.Prefix
	routes     []ipRoute
	rules      []ipRule
}

// readReach finds where routes lead through the ports that have addresses for RDMA.
func (m *Machine) readReach(ctx context.Context, h *nic.Host) {
	var policies []policy
	partial := ""
	for _, name := range natural.Keys(h.Ports) {
		p := h.Ports[name]
		if !p.GIDs.V.Routed() {
			continue
		}
		if policies == nil {
			var err error
			if policies, err = m.policies(ctx); err != nil {
				partial = m.explainError(err)
				if policies, err = m.mainRoutes(); err != nil {
					p.Missing[nic.FieldReach] = m.explainError(err)
					return
				}
			}
		}
		through, from := m.over(p.Name), p.GIDs.V.Addresses()
		r := nic.Reach{Partial: partial}
		for _, y := range policies {
			r.To = append(r.To, y.through(through, from)...)
		}
		r.To = widest(r.To)
		p.Reach = qos.Of(r)
	}
}

// over returns a device and all devices over it.
func (m *Machine) over(name string) []string {
	out := []string{name}
	for n := 0; n < len(out) && len(out) < maxUppers; n++ {
		for _, u := range m.linked(out[n], "upper_") {
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// policies reads all tables.
func (m *Machine) policies(ctx context.Context) ([]policy, error) {
	out := []policy{{everywhere: netip.MustParsePrefix("0.0.0.0/0")}, {everywhere: netip.MustParsePrefix("::/0")}}
	for i, family := range []string{"-4", "-6"} {
		for _, q := range []struct {
			into any
			args []string
		}{{&out[i].rules, []string{"rule", "show"}}, {&out[i].routes, []string{"route", "show", "table", "all"}}} {
			if err := m.ipTool(ctx, q.into, append([]string{"-j", family}, q.args...)...); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// ipTool runs iproute2's ip, which prints JSON.
func (m *Machine) ipTool(ctx context.Context, into any, args ...string) error {
	if m.Tools == nil {
		return ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	res, err := m.Tools.Run(ctx, "ip", args...)
	what := "ip " + strings.Join(args, " ")
	switch {
	case err != nil:
		return err
	case res.Code != 0:
		return fmt.Errorf("%s: exit status %d: %s", what, res.Code, clip(string(res.Stderr)))
	case len(res.Stdout) == 0: // there is none
		return nil
	}
	if err := json.Unmarshal(res.Stdout, into); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// mainRoutes reads the tables that the kernel shows without a program.
func (m *Machine) mainRoutes() ([]policy, error) {
	routes, err := m.routes()
	if err != nil {
		return nil, err
	}
	y := policy{rules: []ipRule{{"src": "all", "table": mainTable}}}
	for _, r := range routes {
		y.routes = append(y.routes, ipRoute{To: r.to.String(), Dev: r.dev})
	}
	return []policy{y}, nil
}

// through returns the destinations of routes through one of the devices, in tables that a rule may
// select for a packet from one of the addresses.
func (y *policy) through(devs []string, from []netip.Addr) (out []netip.Prefix) {
	tables, all := map[string]bool{}, false
	for _, r := range y.rules {
		if !r.mayMatch(devs, from) {
			continue
		}
		if _, vrf := r["l3mdev"]; vrf {
			all = true
		}
		if t, ok := r["table"]; ok {
			tables[fmt.Sprint(t)] = true
		}
	}
	for _, r := range y.routes {
		uses := slices.Contains(devs, r.Dev)
		for _, hop := range r.Hops {
			uses = uses || slices.Contains(devs, hop.Dev)
		}
		if to, ok := r.destination(y.everywhere); ok && uses && (all || tables[cmp.Or(r.Table, mainTable)]) {
			out = append(out, to)
		}
	}
	return out
}

// destination returns the destination of a route that forwards.
func (r *ipRoute) destination(everywhere netip.Prefix) (netip.Prefix, bool) {
	switch {
	case r.Type != "" && r.Type != "unicast":
		return netip.Prefix{}, false
	case r.To == "default":
		return everywhere, true
	}
	return prefixOf(r.To)
}

// prefixOf parses an address or a prefix.
func prefixOf(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// mayMatch reports whether a rule may select its table for packets of the host from one of the
// addresses. RDMA has no mark. Other selectors count as matching.
func (r ipRule) mayMatch(devs []string, from []netip.Addr) bool {
	if _, inverted := r["not"]; inverted {
		return true
	}
	if _, marked := r["fwmark"]; marked {
		return false
	}
	if in, ok := r["iif"]; ok && in != "lo" {
		return false
	}
	if out, ok := r["oif"].(string); ok && !slices.Contains(devs, out) {
		return false
	}
	src, ok := r["src"].(string)
	if bits, part := r["srclen"].(float64); part {
		src = fmt.Sprintf("%s/%d", src, int(bits))
	}
	p, known := prefixOf(src)
	return !ok || src == "all" || !known || slices.ContainsFunc(from, p.Contains)
}

// widest leaves out prefixes that lie within others.
func widest(l []netip.Prefix) (out []netip.Prefix) {
	ordered.Sort(l, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	})
	for _, p := range l {
		if !slices.ContainsFunc(out, func(o netip.Prefix) bool { return o.Overlaps(p) }) {
			out = append(out, p)
		}
	}
	return out
}
